package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/store"
)

// openKept opens a store with backups.
func openKept(t *testing.T, path string) (*store.DB, *Backups) {
	t.Helper()
	blobs := store.NewBlobs(path+".blobs", nil, nil)
	keeper := New(path, Options{Keep: 2, Every: time.Hour, Blobs: blobs})
	if _, err := keeper.Restore(); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(path, store.Options{
		Buckets: []string{"values"}, Now: time.Now, Blobs: blobs, Log: keeper,
		Describe: func(string, []byte) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	keeper.Start(db)
	return db, keeper
}

func putNumber(t *testing.T, db *store.DB, n int) {
	t.Helper()
	testkit.Must(t, db.Job("put").Submit(t.Context(), func(tx *store.Tx) error {
		tx.Put("values", []byte("n"), []byte(fmt.Sprint(n)))
		return nil
	}))
}

// TestBrokenLog: a log that cannot be written fails no change; it is said, and the next
// backup makes up for it.
func TestBrokenLog(t *testing.T) {
	path, left := filepath.Join(t.TempDir(), "tasks.db"), filepath.Join(t.TempDir(), "left")
	synctest.Test(t, func(t *testing.T) {
		db, keeper := openKept(t, path)
		synctest.Wait() // for the first backup
		testkit.Must(t, keeper.log.file.Close())
		putNumber(t, db, 1)
		if _, _, broken := keeper.log.state(); !errors.Is(broken, os.ErrClosed) {
			t.Fatalf("broken: %v", broken)
		}
		before := keeper.numbers()[0]
		time.Sleep(syncEvery) // not Options.Every
		synctest.Wait()
		if now := keeper.numbers()[0]; now != before+1 || keeper.Trouble() != nil {
			t.Errorf("backup %d after %d, trouble %v", now, before, keeper.Trouble())
		}
		<-keeper.News()
		putNumber(t, db, 2)
		testkit.Must(t, os.CopyFS(left, os.DirFS(filepath.Dir(path))))
		db.Stop()
		testkit.Must(t, keeper.Close(db))
		testkit.Must(t, db.Close())
	})
	path = filepath.Join(left, "tasks.db")
	testkit.Must(t, os.Truncate(path, 8192))
	r, err := New(path, Options{Keep: 2, Blobs: store.NewBlobs(path+".blobs", nil, nil)}).Restore()
	if err != nil || r == nil || r.Commits != 1 || r.Damage == nil {
		t.Fatalf("restored %+v, %v", r, err)
	}
	db, keeper := openKept(t, path)
	testkit.Must(t, db.View(t.Context(), func(r store.Reader) error {
		if value := string(r.Bucket("values").Get([]byte("n"))); value != "2" {
			t.Errorf("value %s", value)
		}
		return nil
	}))
	db.Stop()
	testkit.Must(t, keeper.Close(db))
	testkit.Must(t, db.Close())
}
