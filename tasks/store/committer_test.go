package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/hooks/testkit"
)

// hold makes the committer wait until release is called, so that what is
// handed in meanwhile goes into one batch.
func hold(t testing.TB, db *DB) (release func()) {
	t.Helper()
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := db.Job("hold").Submit(context.Background(), func(*Tx) error { close(entered); <-leave; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-entered
	return func() { close(leave); wg.Wait() }
}

// together hands in changes so that they share a batch, in that order, and
// waits for their results.
func together(t testing.TB, db *DB, runs ...func(*Tx) error) []error {
	t.Helper()
	release := hold(t, db)
	errs := make([]error, len(runs))
	var wg sync.WaitGroup
	for i, run := range runs {
		before := len(db.in)
		wg.Go(func() { errs[i] = db.Job(fmt.Sprint("change ", i)).Submit(context.Background(), run) })
		for len(db.in) == before {
			runtime.Gosched()
		}
	}
	release()
	wg.Wait()
	return errs
}

var errOwned = errors.New("a refusal")

func put(key string) func(*Tx) error {
	return func(t *Tx) error { t.Put(bucketValues, []byte(key), []byte("1")); return nil }
}

func wantValues(t testing.TB, db *DB, want string) {
	t.Helper()
	var have []string
	testkit.Must(t, db.View(t.Context(), func(r Reader) error {
		have = nil
		for _, key := range strings.Split("abcdefgh", "") {
			if r.Bucket(bucketValues).Get([]byte(key)) != nil {
				have = append(have, key)
			}
		}
		return nil
	}))
	if strings.Join(have, "") != want {
		t.Errorf("stored: %q, want %q", have, want)
	}
}

func TestBatchIsOneCommit(t *testing.T) {
	var commits atomic.Int32
	db := open(t, func(o *Options) {
		o.Commit = func(tx *bolt.Tx) error { commits.Add(1); return tx.Commit() }
	})
	release := hold(t, db)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if err := db.Job("put").Submit(context.Background(), put(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	for len(db.in) < 100 {
		runtime.Gosched()
	}
	release()
	wg.Wait()
	if n := commits.Load(); n != 1 { // what was held has changed nothing
		t.Errorf("%d commits", n)
	}
}

func TestRefusedChangeLeavesNothing(t *testing.T) {
	db := open(t, nil)
	var tries [3]int
	errs := together(t, db,
		func(t *Tx) error { tries[0]++; return put("a")(t) },
		func(t *Tx) error { tries[1]++; t.Raise(TaskCounter, 7); return errOwned },
		func(t *Tx) error { tries[2]++; return put("c")(t) })
	if errs[0] != nil || !errors.Is(errs[1], errOwned) || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	if tries != [3]int{1, 1, 1} {
		t.Errorf("tries %v: a refusal must not disturb the others", tries)
	}
	wantValues(t, db, "ac")
	testkit.Must(t, submit(t, db, func(tx *Tx) error {
		if id := tx.Next(TaskCounter); id != 1 {
			t.Errorf("id %d: the refused change moved the counter", id)
		}
		return nil
	}))
}

func TestSpoiledChangeIsTakenBack(t *testing.T) {
	boom := errors.New("boom")
	for name, spoil := range map[string]func() error{
		"error": func() error { return boom },
		"panic": func() error { panic(boom) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, nil)
			errs := together(t, db, put("a"), func(t *Tx) error {
				if err := put("b")(t); err != nil {
					return err
				}
				return spoil()
			}, put("c"))
			if errs[0] != nil || errs[2] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "boom") {
				t.Errorf("errors %v", errs)
			}
			if errors.Is(errs[1], ErrDisk) {
				t.Errorf("%v blames the disk", errs[1])
			}
			wantValues(t, db, "ac")
		})
	}
}

func TestPanicIsAnError(t *testing.T) {
	db := open(t, nil)
	err := db.Job("odd change").Submit(t.Context(), func(*Tx) error { var list []int; list[len(list)]++; return nil })
	if err == nil || !strings.Contains(err.Error(), "odd change: internal error: runtime error: index out of range") {
		t.Errorf("error %v", err)
	}
	testkit.Must(t, submit(t, db, put("a")))
}

// TestFailedCommitIsTriedAlone: one change cannot be stored; the others can.
func TestFailedCommitIsTriedAlone(t *testing.T) {
	var refused []error
	db := open(t, func(o *Options) {
		o.Blobs = NewBlobs(filepath.Join(t.TempDir(), "blobs"), func(err error) { refused = append(refused, err) }, nil)
		o.Commit = func(tx *bolt.Tx) error {
			if tx.Bucket([]byte(bucketValues)).Get([]byte("b")) != nil {
				return &os.PathError{Op: "write", Path: "tasks.db", Err: syscall.ENOSPC}
			}
			return tx.Commit()
		}
	})
	errs := together(t, db, put("a"), put("b"), func(*Tx) error { return errOwned }, put("d"))
	if errs[0] != nil || errs[3] != nil || !errors.Is(errs[2], errOwned) {
		t.Errorf("errors %v", errs)
	}
	wantError(t, errs[1], ErrDisk, "no space left on device", "has not happened")
	if !errors.Is(errs[1], syscall.ENOSPC) {
		t.Error("the cause is lost")
	}
	if len(refused) == 0 || !errors.Is(refused[0], syscall.ENOSPC) {
		t.Errorf("Refused was told %v", refused)
	}
	wantValues(t, db, "ad")
}

// TestUnknownOutcome: the last page is written, but the disk does not confirm
// it. Then nothing may be tried again, for it may have happened.
func TestUnknownOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	failing := true
	db := openAt(t, path, func(o *Options) {
		o.Commit = func(tx *bolt.Tx) error {
			if err := tx.Commit(); err != nil || !failing {
				return err
			}
			return syscall.EIO
		}
	})
	long, runs := strings.Repeat("x", InlineLimit+1), 0
	c := db.Job("long")
	packed, err := c.Pack(long)
	testkit.Must(t, err)
	ref := *packed.File
	store := func(t *Tx) error {
		runs++
		t.Store(Place{bucketItems, []byte("long")}, Filed{Files{"text": ref}}, []BlobRef{ref}, nil)
		return nil
	}
	wantError(t, c.Submit(t.Context(), store), ErrDisk, "unknown")
	for _, key := range []string{"a", "b"} {
		wantError(t, submit(t, db, put(key)), ErrDisk, "outcome", "unknown", "open the store again")
	}
	if runs > 1 {
		t.Errorf("tried %d times", runs)
	}
	failing = false
	wantError(t, submit(t, db, put("c")), ErrDisk, "unknown")
	if text, err := db.opts.Blobs.Read(ref); text != long || err != nil {
		t.Errorf("the payload of a change that may have happened is gone: %v", err)
	}
	testkit.Must(t, db.Close())
	again := openAt(t, path, nil)
	testkit.Must(t, submit(t, again, put("c")))
	testkit.Must(t, again.View(t.Context(), func(r Reader) error {
		if r.Bucket(bucketItems).Get([]byte("long")) == nil {
			t.Error("what happened is gone")
		}
		return nil
	}))
}

func TestPanicOfTheDatabaseIsAnError(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	db := open(t, func(o *Options) {
		o.Commit = func(tx *bolt.Tx) error {
			if broken.Load() {
				panic("page 7: invalid page type")
			}
			return tx.Commit()
		}
	})
	wantError(t, submit(t, db, put("a")), ErrCorrupt, "page 7")
	broken.Store(false)
	testkit.Must(t, submit(t, db, put("a")))
	err := db.View(t.Context(), func(Reader) error { panic("page 8") })
	wantError(t, err, ErrCorrupt, "page 8")
}

// TestFullQueue: a caller that finds the queue full can give up, and what it
// wanted does not happen.
func TestFullQueue(t *testing.T) {
	db := open(t, nil)
	release := hold(t, db)
	var wg sync.WaitGroup
	for i := range maxBatch {
		wg.Go(func() {
			if err := db.Job("put").Submit(context.Background(), put(fmt.Sprint("k", i))); err != nil {
				t.Error(err)
			}
		})
	}
	for len(db.in) < maxBatch {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- db.Job("put").Submit(ctx, put("a")) }()
	cancel()
	wantError(t, <-result, context.Canceled)
	release()
	wg.Wait()
	wantValues(t, db, "")
}

// TestUnwritableBlobDir: what stands in the way of a long payload is named.
func TestUnwritableBlobDir(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.Must(t, os.WriteFile(file, nil, 0o600))
	db := &DB{opts: Options{Blobs: NewBlobs(filepath.Join(file, "blobs"), nil, nil)}}
	_, err := db.Job("x").Pack(strings.Repeat("x", InlineLimit+1))
	wantError(t, err, ErrDisk, file, "try again")
}
