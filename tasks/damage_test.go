package tasks

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"

	bolt "go.etcd.io/bbolt"
)

var flips = flag.Int("flips", 6, "how many rounds TestDamageIsNotCopied has")

// flipTask flips bits of a task's record where the file has it now, and says at which of
// its bytes: the key, the text and the checksum all may be hit.
func flipTask(t *testing.T, s *Store, id string, rng *rand.Rand) (hit []int) {
	t.Helper()
	var places []int
	var size int
	testkit.Must(t, raw(t, s).View(func(tx *bolt.Tx) error {
		n, _ := store.ParseID(id)
		c := tx.Bucket([]byte(bucketTasks)).Cursor()
		k, v := c.Seek(store.NumKey(n))
		data, err := os.ReadFile(raw(t, s).Path())
		size = len(k) + len(v)
		for at := 0; at+size <= len(data); at++ { // pages of before may hold it as well
			if bytes.HasPrefix(data[at:], k) && bytes.Equal(data[at+len(k):at+size], v) {
				places = append(places, at)
			}
		}
		return err
	}))
	if len(places) == 0 {
		t.Fatalf("the file does not hold task %s in one piece", id)
	}
	f, err := os.OpenFile(raw(t, s).Path(), os.O_RDWR, 0)
	ok(t, f, err)
	defer f.Close()
	for range 1 + rng.IntN(3) {
		i := rng.IntN(size)
		if slices.Contains(hit, i) { // the same bit twice is none
			continue
		}
		bit := byte(1) << rng.IntN(8)
		for _, at := range places {
			one := make([]byte, 1)
			_, err := f.ReadAt(one, int64(at+i))
			testkit.Must(t, err)
			one[0] ^= bit
			_, err = f.WriteAt(one, int64(at+i))
			testkit.Must(t, err)
		}
		hit = append(hit, i)
	}
	return hit
}

// TestDamageIsNotCopied: bits of one task flip while the store is open. What asks for that
// task or would change it is refused, everything else goes on, and the next Open gives
// back all that was acknowledged before and after.
func TestDamageIsNotCopied(t *testing.T) {
	for round := range *flips {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			damageRound(t, uint64(round))
		})
	}
}

func damageRound(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "tasks.db")
	opts := withBackups
	s, err := Open(path, &opts)
	ok(t, s, err)
	defer s.Close()
	awaitBackup(t, s)
	for i := range 30 {
		add(t, s, New{Subject: fmt.Sprint("subject of task ", i+1), Description: strings.Repeat("lorem ipsum ", 1+rng.IntN(40))})
	}
	id := store.FormatID(1 + rng.Uint64N(30))
	other := store.FormatID(31 - mustNumber(id))
	if rng.IntN(2) == 0 { // with the record in the log, and without
		testkit.Must(t, s.Backup(t.Context()))
	}
	setSubject(t, s, other, "changed before")
	want := get(t, s, id)
	wantOther := get(t, s, other)
	hit := flipTask(t, s, id, rng)

	_, _, err = s.Update(t.Context(), actors.Actor{}, id, Patch{ActiveForm: ptr("working")})
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("bytes %v flipped: update says %v", hit, err)
	}
	wantError(t, err, ErrCorrupt)
	if err := s.Backup(t.Context()); backupNumbers(t, path) != nil && err == nil && readsDamaged(t, path) {
		t.Error("a backup was made of a damaged store")
	}
	if id != other {
		wantOther = setSubject(t, s, other, "changed after")
	}
	later := add(t, s, New{Subject: "made after"})
	_ = s.Close() // its last backup is not made

	s = openSafe(t, path)
	r := s.Restored()
	if r == nil || !r.Whole() {
		t.Fatalf("bytes %v flipped: restored %+v", hit, r)
	}
	testkit.Must(t, s.Check(t.Context()))
	if have := get(t, s, id); have.Subject != want.Subject || have.Description != want.Description || have.Version != want.Version {
		t.Errorf("task %s: %+v, want %+v", id, have, want)
	}
	if id != other && get(t, s, other).Subject != wantOther.Subject {
		t.Errorf("task %s: %+v, want %+v", other, get(t, s, other), wantOther)
	}
	if get(t, s, later.ID).Subject != "made after" {
		t.Errorf("the task of after the damage: %+v", get(t, s, later.ID))
	}
	if _, _, err := s.Update(t.Context(), actors.Actor{}, id, Patch{ActiveForm: ptr("working")}); err != nil {
		t.Error(err)
	}
}

func mustNumber(id string) uint64 { n, _ := store.ParseID(id); return n }

// readsDamaged says that a store's newest backup is not sound.
func readsDamaged(t *testing.T, path string) bool {
	t.Helper()
	_, err := store.ReadImage(backupPath(path, backupNumbers(t, path)[0]))
	return err != nil
}

func setSubject(t *testing.T, s *Store, id, subject string) Task {
	t.Helper()
	task, _, err := s.Update(t.Context(), actors.Actor{}, id, Patch{Subject: &subject})
	return ok(t, task, err)
}

// TestDamagedEventIsNotPassedOn: a damaged event reaches no journal.
func TestDamagedEventIsNotPassedOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	opts := withBackups
	s, err := Open(path, &opts)
	ok(t, s, err)
	awaitBackup(t, s)
	add(t, s, New{Subject: "as it was written"})
	harm(t, path, "as it was written")
	_, err = s.outbox.Events(t.Context(), 0, 0)
	wantError(t, err, ErrCorrupt, "event 1 has a wrong checksum")
	wantError(t, s.outbox.Remove(t.Context(), 1), ErrCorrupt, "event 1")
	_ = s.Close()
	s = openSafe(t, path)
	if get(t, s, "1").Subject != "as it was written" || len(drain(t, s)) != 1 {
		t.Error("the restored store lacks the event")
	}
}

// TestOverwrittenWhileOpen: whatever is done to the file while the store is open, calls
// come back with one clear line, the next Open restores all that was acknowledged, and
// nothing hangs.
func TestOverwrittenWhileOpen(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	f := openAt(t, foreign, nil)
	for i := range 200 { // its commits are more than those of the other one
		testkit.Must(t, f.Put(t.Context(), fmt.Sprint("k", i), []byte("1")))
	}
	closed(t, f)
	big, err := os.ReadFile(foreign)
	ok(t, big, err)
	for name, harm := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"cut off": func(path string) error { return os.Truncate(path, 8192) },
		"removed": os.Remove,
		"text":    func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("text "), 100_000), 0o600) },
		"foreign": func(path string) error { return os.WriteFile(path, big, 0o600) },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".x", big, 0o600), os.Rename(path+".x", path))
		},
		"older": func(path string) error {
			old, err := os.ReadFile(backupPath(path, 1))
			return errors.Join(err, os.WriteFile(path, old, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "tasks.db")
			opts := withBackups
			s, err := Open(path, &opts)
			ok(t, s, err)
			awaitBackup(t, s)
			for i := range 60 {
				add(t, s, New{Subject: fmt.Sprint("task ", i), Description: strings.Repeat("x", 2000)})
			}
			testkit.Must(t, s.Backup(t.Context()))
			add(t, s, New{Subject: "after the backup"})
			testkit.Must(t, harm(path))
			select {
			case <-s.Lost(): // a team that rests notices
			case <-time.After(time.Minute):
				t.Fatal("nobody noticed")
			}
			_, _, err = s.Update(t.Context(), actors.Actor{}, "1", Patch{ActiveForm: ptr("x")})
			wantError(t, err, ErrReplaced, path)
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %v", err)
			}
			_, err = s.List(t.Context())
			wantError(t, err, ErrReplaced)
			wantError(t, s.Cause(), ErrReplaced)
			_ = s.Close()

			s, err = Open(path, &opts)
			ok(t, s, err)
			defer s.Close()
			if name != "foreign" && name != "replaced" { // those are another team's: see TestForeignStore
				if list := ok1(t)(s.List(t.Context())); len(list) != 61 {
					t.Errorf("%d tasks are left, restored %+v", len(list), s.Restored())
				}
				testkit.Must(t, s.Check(t.Context()))
			}
		})
	}
}

// TestOverwrittenAtWork is the same with readers and writers in the middle of their work, in
// a process of their own: when a commit fails, bbolt reads the whole file in a goroutine
// whose faults end the process. What was acknowledged is there all the same.
func TestOverwrittenAtWork(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		path := filepath.Join(t.TempDir(), "tasks.db")
		s := openSafe(t, path)
		for i := range 40 {
			add(t, s, New{Subject: fmt.Sprint("task ", i), Description: strings.Repeat("x", 2000)})
		}
		closed(t, s)
		acked, err := overwriteAtWork(t, path, round%2 == 0)
		if err != "" && !strings.Contains(err, "fatal error: fault") {
			t.Errorf("round %d: the process failed:\n%s", round, err)
		}
		opts := withBackups
		s = openAt(t, path, &opts) // a backup that the child left unfinished may stay, so none is awaited
		if list := ok1(t)(s.List(t.Context())); len(list) < 40+acked {
			t.Errorf("%d tasks are left of %d, restored %+v", len(list), 40+acked, s.Restored())
		}
		testkit.Must(t, s.Check(t.Context()))
		closed(t, s)
	}
}

// overwriteAtWork starts a child that works with a store, and truncates or overwrites the
// file when it does. It returns how many added tasks the child has acknowledged, and what it
// says if it fails.
func overwriteAtWork(t *testing.T, path string, truncate bool) (acked int, failure string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a child that hangs
	defer cancel()
	cmd := child(ctx, "overwritten", path)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // shows where it hangs
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	ok(t, out, err)
	testkit.Must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if acked++; acked > 1 {
			continue
		}
		if truncate {
			testkit.Must(t, os.Truncate(path, 0))
		} else {
			testkit.Must(t, os.WriteFile(path, bytes.Repeat([]byte{0xff}, 1<<20), 0o600))
		}
	}
	if err := cmd.Wait(); err != nil {
		return acked, err.Error() + "\n" + stderr.String()
	}
	return acked, ""
}

// overwrittenChild reads and writes a store until that fails, with a line for each task that
// it has added. A commit that was under way may write good pages again: then the guard sees
// nothing, each look at a page that is gone says that it is damaged, and what never looks at
// one goes on. So the number of calls has a limit.
func overwrittenChild(path string) error {
	opts := withBackups
	s, err := Open(path, &opts)
	if err != nil {
		return err
	}
	ends := make(chan struct{}, 4)
	for w := range 4 {
		go func() {
			for n, damaged := 0, 0; s.Cause() == nil && damaged < 1000 && n < 2000; n++ {
				var err error
				if w%2 == 0 {
					_, err = s.Add(context.Background(), actors.Actor{}, []New{{Subject: fmt.Sprint(w, " more ", n)}})
				} else {
					_, err = s.List(context.Background())
				}
				switch {
				case err == nil && w%2 == 0:
					fmt.Println("added")
				case errors.Is(err, ErrCorrupt):
					damaged++
				case err != nil:
					damaged = 1000
				}
			}
			ends <- struct{}{}
		}()
	}
	for range 4 {
		<-ends
	}
	if s.Cause() != nil && !errors.Is(s.Cause(), ErrReplaced) {
		return s.Cause()
	}
	return nil
}

// TestForeignStore: the store of another team is refused in one line, and left as it is.
func TestForeignStore(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := store.Identity{Team: "ours", Workspace: "/w/ours"}, store.Identity{Team: "theirs", Workspace: "/w/theirs"}
	path := filepath.Join(dir, "tasks.db")
	closed(t, openAt(t, path, &Options{Identity: ours}))
	closed(t, openAt(t, path, &Options{Identity: ours}))
	closed(t, openAt(t, path, &Options{ReadOnly: true}))
	before, err := os.ReadFile(path)
	ok(t, before, err)
	for _, readOnly := range []bool{true, false} {
		_, err = Open(path, &Options{Identity: theirs, ReadOnly: readOnly})
		wantError(t, err, ErrForeign, "team ours of /w/ours", "team theirs of /w/theirs")
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than a line: %v", err)
		}
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, before) {
		t.Error("the file was changed")
	}
	// A store without an identity takes that of the team that opens it.
	closed(t, openAt(t, filepath.Join(dir, "nobody.db"), nil))
	closed(t, openAt(t, filepath.Join(dir, "nobody.db"), &Options{Identity: theirs}))
	_, err = Open(filepath.Join(dir, "nobody.db"), &Options{Identity: ours})
	wantError(t, err, ErrForeign)
}
