package tasks

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/tasks/kv"
)

// migrations is how often TestMigrationIsKilled kills a process that migrates; a night's
// worth is 1000.
var migrations = flag.Int("migrations", 3, "how often TestMigrationIsKilled kills a process that migrates a store")

// read is the file at path.
func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	return ok(t, data, err)
}

// listed is what a store has of the tasks of format1.
func listed(ctx context.Context, s *Store) (string, error) {
	list, err := s.List(ctx)
	var b strings.Builder
	for _, task := range list {
		fmt.Fprintln(&b, task.ID, task.Status, task.Owner, task.Epoch, task.Subject, task.BlockedBy)
	}
	return b.String(), err
}

// sameAsFormat1 fails unless a store has what format1 has.
func sameAsFormat1(t *testing.T, s *Store) {
	t.Helper()
	got, err := listed(t.Context(), s)
	if want := "1 completed ann 2 done before []\n2 in_progress ann 1 half done []\n3 pending bob 0 waits [2]\n"; err != nil || got != want {
		t.Errorf("tasks\n%swant\n%s%v", got, want, err)
	}
	wantList(t, "mail of bob", unread(t, s, "bob"), []string{
		"task_assignment : Task 3 is yours: waits (it waits for task 2)", "text ann: hello from format 1"})
}

// TestReadOnlyNeverMigrates: a file of an older format is read, by two at once, and not
// changed; nothing is left beside it.
func TestReadOnlyNeverMigrates(t *testing.T) {
	path := format1(t)
	before := read(t, path)
	told := func(m *kv.Migration) { t.Errorf("a reader migrated: %v", m) }
	for range 2 {
		s, err := Open(path, &Options{ReadOnly: true, Backups: 1, Migrated: told,
			Identity: kv.Identity{Team: "crew", Workspace: "/w"}})
		ok(t, s, err)
		defer s.Close()
		sameAsFormat1(t, s)
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Put(t.Context(), "k", []byte("1")); !errors.Is(err, ErrReadOnly) {
			t.Errorf("a change: %v", err)
		}
	}
	if after := read(t, path); !bytes.Equal(after, before) {
		t.Error("the file was changed")
	}
	if left, err := os.ReadDir(strings.TrimSuffix(path, "/tasks.db")); err != nil || len(left) != 1 {
		t.Errorf("beside the store: %v, %v", left, err)
	}
}

// TestMigrationTellsTheWayBack: whoever opens the store is told once where the copy from
// before is. Put back as the text says, with the long texts that were removed meanwhile, it
// is the store as it was.
func TestMigrationTellsTheWayBack(t *testing.T) {
	path := format1(t)
	var told []*kv.Migration
	tell := func(m *kv.Migration) { told = append(told, m) }
	for range 2 {
		closed(t, openAt(t, path, &Options{Backups: 1, Migrated: tell}))
	}
	if len(told) != 1 || told[0].From != 1 || told[0].Backup != path+".v1.bak" {
		t.Fatalf("told %+v", told)
	}
	for _, want := range []string{"from format 1 to ", "copy from before is " + path + ".v1.bak",
		"move that copy to " + path, "remove " + path + ".backups"} {
		if !strings.Contains(told[0].String(), want) {
			t.Errorf("%q lacks %q", told[0], want)
		}
	}
	if err := errors.Join(os.Rename(told[0].Backup, path), os.RemoveAll(path+".backups")); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path, &Options{Backups: 1, Migrated: tell})
	sameAsFormat1(t, s)
	if len(told) != 2 {
		t.Errorf("the copy was not of the older format: %v", told)
	}
}

// TestMigrationIsKilled: whenever a migration is killed, the store can be read, and the
// next one completes it.
func TestMigrationIsKilled(t *testing.T) {
	t.Parallel()
	cut := 0
	for range *migrations {
		path := format1(t)
		lines := killChild(t, "migrate", path, 1+rand.IntN(4), time.Duration(rand.IntN(2000))*time.Microsecond)
		copied := fmt.Sprint(path, len(lines)) // which it has migrated, is migrating, or was going to
		if s, err := Open(copied, &Options{ReadOnly: true}); s != nil {
			sameAsFormat1(t, s)
			closed(t, s)
		} else {
			t.Error(err)
		}
		s := openAt(t, copied, &Options{Migrated: func(*kv.Migration) { cut++ }})
		sameAsFormat1(t, s)
		closed(t, s)
		s = openAt(t, copied+".v1.bak", nil)
		sameAsFormat1(t, s)
		closed(t, s)
	}
	t.Logf("%d of %d were killed before the migration was committed", cut, *migrations)
}

// migrateChild migrates copies of a store until it is killed. It writes a line before each.
func migrateChild(path string) error {
	data, err := os.ReadFile(path)
	for n := 1; err == nil; n++ {
		copied := fmt.Sprint(path, n)
		if err = os.WriteFile(copied, data, 0o600); err != nil {
			break
		}
		fmt.Println(n)
		var s *Store
		if s, err = Open(copied, nil); err == nil {
			err = s.Close()
		}
	}
	return err
}

// TestTwoMigrateAtOnce: one of them migrates; the other is told in one line that the store
// is in use, or finds it migrated.
func TestTwoMigrateAtOnce(t *testing.T) {
	t.Parallel()
	path := format1(t)
	var mu sync.Mutex
	told := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := Open(path, &Options{Migrated: func(*kv.Migration) {
				mu.Lock()
				defer mu.Unlock()
				told++
			}})
			if errors.Is(err, ErrLocked) && !strings.Contains(err.Error(), "\n") {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if told != 1 {
		t.Errorf("%d have migrated it", told)
	}
	sameAsFormat1(t, openAt(t, path, nil))
}

// TestNewerStoreIsNotRestored: a store that a newer covey has written in ways that look like
// damage is refused, by readers and writers, and not replaced by a backup of this version.
func TestNewerStoreIsNotRestored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openSafe(t, path)
	add(t, s, New{Subject: "of now"})
	closed(t, s)
	rawBolt(t, path, func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(bucketMeta))
		return errors.Join(meta.Put([]byte(keyFormat), fmt.Append(nil, formatNow+1)), meta.Put([]byte("news"), []byte("unsealed")))
	})
	before := read(t, path)
	for _, readOnly := range []bool{true, false} {
		opts := withBackups
		opts.ReadOnly = readOnly
		_, err := Open(path, &opts)
		wantError(t, err, ErrFormat, "use a newer covey")
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %v", err)
		}
	}
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file was changed")
	}
}

// TestReaderOfAnUnfinishedFile: a file that was cut off while it was made is no older store.
func TestReaderOfAnUnfinishedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	rawBolt(t, path, func(*bolt.Tx) error { return nil })
	before := read(t, path)
	_, err := Open(path, &Options{ReadOnly: true})
	wantError(t, err, ErrFormat, "holds no store yet")
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file was changed")
	}
}
