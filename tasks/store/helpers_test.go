package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
)

const (
	bucketItems  = "items"
	bucketValues = "values"
)

type noLog struct{}

func (noLog) Append([]byte) {}

// open opens a new store with two buckets of its own, and checks it when the test ends.
func open(t testing.TB, change func(*Options)) *DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "tasks.db"), change)
}

func openAt(t testing.TB, path string, change func(*Options)) *DB {
	t.Helper()
	o := Options{
		Buckets: []string{bucketItems, bucketValues}, Now: time.Now, Log: noLog{},
		Describe: func(string, []byte) string { return "" }, Blobs: NewBlobs(path+".blobs", nil, nil),
	}
	if change != nil {
		change(&o)
	}
	db, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-db.ending: // closed in the test
			return
		default:
		}
		if err := db.Check(t.Context(), nil); err != nil && !errors.Is(err, ErrClosed) && t.Context().Err() == nil {
			t.Errorf("at the end: %v", err)
		}
		testkit.Must(t, db.Close())
	})
	return db
}

// wantError fails the test unless err is target and says every one of words.
func wantError(t testing.TB, err, target error, words ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error %v, want %v", err, target)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// submit makes a change and waits for it.
func submit(t testing.TB, db *DB, run func(*Tx) error) error {
	t.Helper()
	return db.Job("change").Submit(t.Context(), run)
}
