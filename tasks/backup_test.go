package tasks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/backup"
)

// withBackups are the options of a store with backups. A process that another test forks has the
// store's lock until it executes its program.
var withBackups = Options{Backups: 2, BackupEvery: time.Hour, LockTimeout: time.Minute}

// openSafe opens a store with backups, and comes back when the first one is made: that
// must not come in the middle of a test.
func openSafe(t testing.TB, path string) *Store {
	t.Helper()
	opts := withBackups
	s := openAt(t, path, &opts)
	awaitBackup(t, s)
	return s
}

// closed closes a store in the middle of a test.
func closed(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// harm damages the text wherever it stands in a file. mend takes that back.
func harm(t testing.TB, path, text string) (mend func()) {
	t.Helper()
	data, err := os.ReadFile(path)
	ok(t, data, err)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ok(t, f, err)
	var places []int
	for at := strings.Index(string(data), text); at >= 0; {
		places = append(places, at)
		next := strings.Index(string(data[at+1:]), text)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	write := func(b byte) {
		for _, at := range places {
			if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
				t.Error(err)
			}
		}
	}
	if len(places) == 0 {
		t.Fatalf("%s does not hold %q", path, text)
	}
	write(text[0] ^ 1)
	t.Cleanup(func() { _ = f.Close() })
	return func() { write(text[0]) }
}

func dirNames(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	for _, e := range ok(t, entries, err) {
		names = append(names, e.Name())
	}
	return names
}

// TestRestore: a damaged store is found out, its last backup takes its place, and what
// the backup does not know is named (ADVERSARIAL.md 28).
func TestRestore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	long := strings.Repeat("long ", 20_000)
	s := openSafe(t, path)
	add(t, s, New{Subject: "first task", Description: long})
	closed(t, s)
	s = openSafe(t, path)
	if s.Restored() != nil {
		t.Errorf("restored %+v", s.Restored())
	}
	before := get(t, s, "1")
	events := len(drain(t, s))
	closed(t, s) // with a backup
	s = openSafe(t, path)
	if err := s.Backup(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(t, s, New{Subject: "second task"})
	// No backup knows of the second task: the process is killed.
	image, err := os.ReadFile(path)
	ok(t, image, err)
	payload := dirNames(t, path+".blobs")
	_, err = s.Delete(t.Context(), actors.Actor{}, "1", nil) // and its payload with it
	ok(t, 0, err)
	closed(t, s)
	for _, n := range backupNumbers(t, path)[:1] { // the one of this Close
		if err := os.Remove(filepath.Join(path+".backups", fmt.Sprintf("%06d.db", n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	harm(t, path, "second task")
	for _, log := range logsOf(t, path) { // or it would know
		testkit.Must(t, os.Remove(log))
	}

	s = openSafe(t, path)
	r := s.Restored()
	if r == nil || r.Missing != 1 || !errors.Is(r.Damage, ErrCorrupt) || r.Event != uint64(events) || time.Since(r.Backup) > time.Minute {
		t.Fatalf("restored %+v", r)
	}
	if have := get(t, s, "1"); have.Description != long || have.Version != before.Version {
		t.Errorf("task 1 has version %d and %d bytes", have.Version, len(have.Description))
	}
	wantList(t, "payloads", dirNames(t, path+".blobs"), payload)
	_, err = s.Task(t.Context(), "2")
	wantError(t, err, ErrNotFound)
	kept, err := os.ReadFile(r.Kept)
	if ok(t, kept, err); !strings.Contains(string(kept), "econd task") {
		t.Error("the damaged file was not kept")
	}
	closed(t, s)
	if s = openSafe(t, path); s.Restored() != nil {
		t.Error("restored twice")
	}
}

// TestNoBackupToRestore: without a sound backup a damaged store is an error that says
// so, and the file stays as it is.
func TestNoBackupToRestore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openSafe(t, path)
	add(t, s, New{Subject: "the one task"})
	closed(t, s)
	harm(t, path, "the one task")
	for _, name := range dirNames(t, path+".backups") {
		if err := os.WriteFile(filepath.Join(path+".backups", name), []byte("short"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path)
	ok(t, before, err)
	opts := withBackups
	_, err = Open(path, &Options{ReadOnly: true, Backups: 1})
	wantError(t, err, ErrCorrupt, "not what was committed", "open it for writing")
	_, err = Open(path, &opts)
	wantError(t, err, ErrCorrupt, "not what was committed", "no backup to restore", "000001.db")
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file was changed")
	}
	if s, err := Open(path, nil); err != nil { // who asks for no backups gets what is there
		t.Error(err)
	} else {
		wantError(t, s.Check(t.Context()), ErrCorrupt, "wrong checksum")
		closed(t, s)
	}
}

// TestBackupsAreFew: as many are kept as were asked for, and none is made of what has
// not changed.
func TestBackupsAreFew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openSafe(t, path)
	for i := range 5 {
		add(t, s, New{Subject: fmt.Sprint("task ", i)})
		for range 2 {
			if err := s.Backup(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list := backupNumbers(t, path); len(list) != 2 {
		t.Errorf("backups %v", list)
	}
	before := backupNumbers(t, path)[0]
	if err := s.Backup(t.Context()); err != nil || backupNumbers(t, path)[0] != before {
		t.Errorf("backups %v, %v", backupNumbers(t, path), err)
	}
	if err := os.WriteFile(backupPath(path, 99)+".part", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, s, New{})
	closed(t, s)
	if names := dirNames(t, path+".backups"); len(names) != 4 { // with a log each
		t.Errorf("left in the folder: %q", names)
	}
	if err := backup.RemoveFiles(path, ""); err != nil {
		t.Fatal(err)
	}
	if names := dirNames(t, filepath.Dir(path)); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

// TestBackupsInTime: while a store is open and changes, backups come by themselves.
func TestBackupsInTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		opts := withBackups
		path := filepath.Join(dir, "tasks.db")
		s, err := Open(path, &opts)
		ok(t, s, err)
		defer s.Close()
		synctest.Wait()
		first := backupNumbers(t, path)[0]
		add(t, s, New{})
		time.Sleep(opts.BackupEvery)
		synctest.Wait()
		if now := backupNumbers(t, path)[0]; now != first+1 {
			t.Errorf("backup %d after %d", now, first)
		}
	})
}

// TestUnfinished: a file that a crash cut off while it was made is made again.
func TestUnfinished(t *testing.T) {
	for _, size := range []int{1, 4096, 4 * os.Getpagesize()} {
		path := filepath.Join(t.TempDir(), "tasks.db")
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		add(t, openSafe(t, path), New{})
	}
}

// TestExamineLeavesOthersAlone: a store that is in use is not looked through.
func TestExamineLeavesOthersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openSafe(t, path)
	add(t, s, New{Subject: "in use"})
	mend := harm(t, path, "in use")
	opts := withBackups
	opts.LockTimeout = 0
	_, err := Open(path, &opts)
	wantError(t, err, ErrLocked)
	if len(dirNames(t, filepath.Dir(path))) > 2 {
		t.Errorf("it left %q", dirNames(t, filepath.Dir(path)))
	}
	mend()
}
