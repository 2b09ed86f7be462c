package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// Migration describes how a file was converted from an older format.
type Migration struct {
	From, To int    // formats
	Backup   string // the copy of the file from before

	store string
	blobs string // folder of payload files
	kept  bool   // there are payload files, which are kept with the backup
}

// blobsSuffix is appended to the path of a backup for the folder with its payload files.
const blobsSuffix = ".blobs"

// backupName returns the path of the copy that is made before a file is migrated.
func backupName(path string, format int) string { return fmt.Sprintf("%s.v%d.bak", path, format) }

// exists reports whether there is a file at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// String says what has happened and how to go back, for people. The backups of the newer
// format have to go as well: the older covey would restore one of them if it found damage,
// and could not read it.
func (m *Migration) String() string {
	texts := ""
	if m.kept {
		texts = fmt.Sprintf(", copy the files of %s to %s", m.Backup+blobsSuffix, m.blobs)
	}
	return fmt.Sprintf("the store was migrated from format %d to %d; the copy from before is %s; to go back to the "+
		"older covey: end the team, move that copy to %s%s, and remove %s",
		m.From, m.To, m.Backup, m.store, texts, m.store+dirSuffix)
}

// backUp copies the file and syncs the copy. An earlier backup of that format is replaced
// only by a complete new one. Payload files are linked, because later changes remove those
// that are no longer needed.
func (m *Migration) backUp(db *bolt.DB, blobs *Blobs) error {
	m.Backup = backupName(m.store, m.From)
	part := m.Backup + ".part"
	err := db.View(func(tx *bolt.Tx) error {
		names := blobNames(tx)
		m.kept = len(names) > 0
		return errors.Join(blobs.linkTo(m.Backup+blobsSuffix, names), copyStore(tx, part))
	})
	if err != nil {
		return errors.Join(err, Remove(part))
	}
	if err := SyncFile(part); err != nil {
		return fmt.Errorf("sync the copy: %w", err)
	}
	if err := os.Rename(part, m.Backup); err != nil {
		return fmt.Errorf("rename the copy: %w", err)
	}
	return SyncDir(filepath.Dir(m.Backup))
}

// isOlder reports whether a file has an older format than this version writes.
func isOlder(db *bolt.DB) (bool, error) {
	have, err := storedFormat(db)
	return err == nil && have > 0 && have < Format, err
}

// readOlder opens, for reading, a migrated copy of a file of an older format, and closes
// the file. So a reader needs no code for older formats, and the file stays as it is for
// the covey that wrote it. Only this process has the copy: its name is removed at once, so
// that a killed reader leaves nothing either. While the file is copied, this process holds
// the shared lock, as each reader does: a covey up that is to migrate the file waits for so
// long and no longer.
func (db *DB) readOlder() (err error) {
	dir, err := os.MkdirTemp("", "covey-store-")
	if err != nil {
		return fmt.Errorf("a folder for a copy in the present format: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, filepath.Base(db.bolt.Path()))
	err = db.bolt.View(func(tx *bolt.Tx) error { return copyStore(tx, path) })
	if err != nil {
		return fmt.Errorf("copy the file to read it: %w", err)
	}
	if err := db.migrateCopy(path); err != nil {
		return fmt.Errorf("a copy in the present format: %w", err)
	}
	copied := newGuard(path)
	opened, err := openFile(path, db.opts, copied)
	if err != nil {
		return fmt.Errorf("read the copy in the present format: %w", err)
	}
	err = db.bolt.Close()
	db.bolt, db.guard = opened, copied
	return err
}

// migrateCopy migrates a file that nobody else opens. It syncs nothing, because a crash
// of the machine leaves no use for the copy.
func (db *DB) migrateCopy(path string) error {
	copied, err := openBolt(path, &bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
		NoSync: true, NoGrowSync: true})
	if err != nil {
		return err
	}
	have, err := storedFormat(copied)
	if err == nil {
		err = copied.Update(func(tx *bolt.Tx) error { return migrate(tx, have, db.layout(Format), migrations()) })
	}
	return errors.Join(err, copied.Close())
}
