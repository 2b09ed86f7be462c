package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestMigration makes up the next format, in which a value has another key. A copy that
// cannot be made, a step that fails and a reader leave the file as it was. What is migrated
// is refused by this version, which names the copy from before.
func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	db := openAt(t, path, nil)
	testkit.Must(t, submit(t, db, put("a")))
	testkit.Must(t, db.Close())
	next, copied, unlucky := db.layout(Format+1), formatBackup(path, Format), errors.New("no luck")
	rename := func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketValues))
		return errors.Join(b.Delete([]byte("a")), b.Put([]byte("b"), seal(bucketValues, []byte("b"), []byte("1"))))
	}
	migrate := func(o Options, step migration) error {
		file, err := openFile(path, o, newGuard(path))
		testkit.Must(t, err)
		return errors.Join(establish(file, db.opts.Blobs, next, []migration{step}), file.Close())
	}
	unchanged := func() {
		t.Helper()
		db := openAt(t, path, nil)
		wantValues(t, db, "a")
		testkit.Must(t, db.Close())
	}

	testkit.Must(t, os.MkdirAll(filepath.Join(copied, "in the way"), 0o700))
	if err := migrate(Options{}, rename); err == nil {
		t.Error("it is migrated without a copy")
	}
	testkit.Must(t, os.RemoveAll(copied))
	unchanged()
	wantError(t, migrate(Options{ReadOnly: true}, rename), ErrFormat, "covey up brings it to format 2")
	fails := func(tx *bolt.Tx) error { return errors.Join(rename(tx), unlucky) }
	wantError(t, migrate(Options{}, fails), unlucky, "from format 1 to 2; the file is as it was")
	unchanged()

	testkit.Must(t, migrate(Options{}, rename))
	_, err := Open(path, db.opts)
	wantError(t, err, ErrFormat, "has format 2", "use a newer covey", "older format is "+copied)
	testkit.Must(t, os.Rename(copied, path))
	unchanged()
}
