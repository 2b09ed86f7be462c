package kv

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// later is what a migration over two formats that are yet to come would do. first is
// the format of the store before it.
func later(first int) map[int]migration {
	note := func(text string) migration {
		return func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(bucketMeta))
			return b.Put([]byte("note"), append(b.Get([]byte("note")), text...))
		}
	}
	return map[int]migration{first: note("one"), first + 1: note(" two")}
}

func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	db := openAt(t, path, nil)
	must(t, submit(t, db, put("a")))
	must(t, db.Close())
	file, err := openFile(path, Options{}, newGuard(path))
	must(t, err)
	goal := db.layout(Format + 2)
	steps := later(Format)
	failing := map[int]migration{Format: steps[Format], Format + 1: func(*bolt.Tx) error { return errors.New("no luck") }}
	if _, err := establish(file, db.opts.Blobs, goal, failing); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("format %d: no luck", Format+1)) {
		t.Errorf("failing step: %v", err)
	}
	_, err = establish(file, db.opts.Blobs, goal, map[int]migration{Format + 1: steps[Format+1]})
	wantError(t, err, ErrFormat, "too old")
	if v, err := storedFormat(file); v != Format || err != nil {
		t.Fatalf("after failures: format %d, %v", v, err)
	}
	done, err := establish(file, db.opts.Blobs, goal, steps)
	must(t, err)
	if v, err := storedFormat(file); v != goal.format || err != nil {
		t.Errorf("format %d, %v", v, err)
	}
	must(t, file.View(func(tx *bolt.Tx) error {
		if note := string(tx.Bucket([]byte(bucketMeta)).Get([]byte("note"))); note != "one two" {
			t.Errorf("note %q", note)
		}
		return nil
	}))
	must(t, file.Close())
	_, err = Open(path, db.opts)
	wantError(t, err, ErrFormat, fmt.Sprintf("format %d", goal.format), "older format is "+done.Backup)
	wantValues(t, openAt(t, done.Backup, nil), "a")
}
