package tasks

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
)

// hold makes the committer wait until release is called, so that what is
// handed in meanwhile goes into one batch.
func hold(t testing.TB, s *Store) (release func()) {
	t.Helper()
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		c := &job{op: "hold", run: func(*txn) error { close(entered); <-leave; return nil }}
		if err := s.submit(context.Background(), c); err != nil {
			t.Error(err)
		}
	})
	<-entered
	return func() { close(leave); wg.Wait() }
}

// together hands in changes so that they share a batch, in that order, and
// waits for their results.
func together(t testing.TB, s *Store, runs ...func(*txn) error) []error {
	t.Helper()
	release := hold(t, s)
	errs := make([]error, len(runs))
	var wg sync.WaitGroup
	for i, run := range runs {
		before := len(s.in)
		wg.Go(func() { errs[i] = s.submit(context.Background(), &job{op: fmt.Sprint("change ", i), run: run}) })
		for len(s.in) == before {
			runtime.Gosched()
		}
	}
	release()
	wg.Wait()
	return errs
}

func put(key string) func(*txn) error {
	return func(t *txn) error { return t.setValue(key, &valueRecord{Value: []byte("1")}) }
}

func wantValues(t testing.TB, s *Store, want string) {
	t.Helper()
	var have []string
	for _, key := range strings.Split("abcdefgh", "") {
		if _, found, err := s.Value(t.Context(), key); err != nil {
			t.Fatal(err)
		} else if found {
			have = append(have, key)
		}
	}
	if strings.Join(have, "") != want {
		t.Errorf("stored: %q, want %q", have, want)
	}
}

func TestBatchIsOneCommit(t *testing.T) {
	s := open(t, nil)
	var commits atomic.Int32
	s.update = func(fn func(*bolt.Tx) error) error { commits.Add(1); return s.db.Update(fn) }
	release := hold(t, s)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if err := s.Put(context.Background(), fmt.Sprint(i), []byte("1")); err != nil {
				t.Error(err)
			}
		})
	}
	for len(s.in) < 100 {
		runtime.Gosched()
	}
	release()
	wg.Wait()
	if n := commits.Load(); n != 2 { // the one that was held, and one for all others
		t.Errorf("%d commits", n)
	}
}

func TestRefusedChangeLeavesNothing(t *testing.T) {
	s := open(t, nil)
	var tries [3]int
	errs := together(t, s,
		func(t *txn) error { tries[0]++; return put("a")(t) },
		func(t *txn) error { tries[1]++; t.counts.task += 7; return ErrBlocked },
		func(t *txn) error { tries[2]++; return put("c")(t) })
	if errs[0] != nil || !errors.Is(errs[1], ErrBlocked) || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	if tries != [3]int{1, 1, 1} {
		t.Errorf("tries %v: a refusal must not disturb the others", tries)
	}
	wantValues(t, s, "ac")
	if id := add(t, s, New{}).ID; id != "1" {
		t.Errorf("id %s: the refused change moved the counter", id)
	}
}

func TestSpoiledChangeIsTakenBack(t *testing.T) {
	boom := errors.New("boom")
	for name, spoil := range map[string]func() error{
		"error": func() error { return boom },
		"panic": func() error { panic(boom) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, nil)
			errs := together(t, s, put("a"), func(t *txn) error {
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
			wantValues(t, s, "ac")
		})
	}
}

func TestPanicIsAnError(t *testing.T) {
	s := open(t, nil)
	c := &job{op: "odd change", run: func(*txn) error { var list []int; list[len(list)]++; return nil }}
	err := s.submit(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "odd change: internal error: runtime error: index out of range") {
		t.Errorf("error %v", err)
	}
	add(t, s, New{})
}

// TestFailedCommitIsTriedAlone: one change cannot be stored; the others can.
func TestFailedCommitIsTriedAlone(t *testing.T) {
	var refused []error
	s := open(t, &Options{Refused: func(err error) { refused = append(refused, err) }})
	s.update = func(fn func(*bolt.Tx) error) error {
		return s.db.Update(func(tx *bolt.Tx) error {
			if err := fn(tx); err != nil {
				return err
			}
			if tx.Bucket([]byte(bucketValues)).Get([]byte("b")) != nil {
				return &os.PathError{Op: "write", Path: "tasks.db", Err: syscall.ENOSPC}
			}
			return nil
		})
	}
	errs := together(t, s, put("a"), put("b"), func(*txn) error { return ErrOwned }, put("d"))
	if errs[0] != nil || errs[3] != nil || !errors.Is(errs[2], ErrOwned) {
		t.Errorf("errors %v", errs)
	}
	wantError(t, errs[1], ErrDisk, "no space left on device", "has not happened")
	if !errors.Is(errs[1], syscall.ENOSPC) {
		t.Error("the cause is lost")
	}
	if len(refused) == 0 || !errors.Is(refused[0], syscall.ENOSPC) {
		t.Errorf("Refused was told %v", refused)
	}
	wantValues(t, s, "ad")
}

// TestUnknownOutcome: the last page is written, but the disk does not confirm
// it. Then nothing may be tried again, for it may have happened.
func TestUnknownOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	s.update = func(fn func(*bolt.Tx) error) error {
		if err := s.db.Update(fn); err != nil {
			return err
		}
		return syscall.EIO
	}
	long := strings.Repeat("x", inlineLimit+1)
	_, err := s.Add(t.Context(), Actor{}, []New{{Subject: "s", Description: long}})
	wantError(t, err, ErrDisk, "unknown")
	s.broken = nil // safe here: the committer is idle
	must(t, s.db.View(func(tx *bolt.Tx) error {
		s.digest = lastNum(tx.Bucket([]byte(bucketMeta)).Get([]byte(keyDigest)))
		return nil
	}))
	runs := 0
	errs := together(t, s, func(t *txn) error { runs++; return put("a")(t) }, put("b"))
	for _, err := range errs {
		wantError(t, err, ErrDisk, "outcome", "unknown", "open the store again")
	}
	if runs > 1 {
		t.Errorf("tried %d times", runs)
	}
	s.update = s.db.Update
	wantError(t, s.Put(t.Context(), "c", []byte("1")), ErrDisk, "unknown")
	if get(t, s, "1").Description != long {
		t.Error("the payload of a change that may have happened is gone")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, path, nil)
	if err := again.Put(t.Context(), "c", []byte("1")); err != nil {
		t.Error(err)
	}
}

func TestPanicOfTheDatabaseIsAnError(t *testing.T) {
	s := open(t, nil)
	s.update = func(func(*bolt.Tx) error) error { panic("page 7: invalid page type") }
	wantError(t, s.Put(t.Context(), "a", []byte("1")), ErrCorrupt, "page 7")
	s.update = s.db.Update
	if err := s.Put(t.Context(), "a", []byte("1")); err != nil {
		t.Error(err)
	}
	err := s.view(t.Context(), func(reader) error { panic("page 8") })
	wantError(t, err, ErrCorrupt, "page 8")
}

func TestCancelledCaller(t *testing.T) {
	s := open(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	release := hold(t, s)
	result := make(chan error)
	go func() {
		_, err := s.Add(ctx, Actor{Name: "ann", CallID: "c"}, []New{{Subject: "s"}})
		result <- err
	}()
	for len(s.in) == 0 {
		runtime.Gosched()
	}
	cancel()
	wantError(t, <-result, context.Canceled, "may still happen")
	release()
	if err := s.Put(t.Context(), "a", []byte("1")); err != nil { // comes after it
		t.Fatal(err)
	}
	r, found, err := s.Receipt(t.Context(), "ann", "c")
	if err != nil || !found || len(r.Tasks) != 1 {
		t.Errorf("receipt %+v, %v, %v: who asks again must learn that it happened", r, found, err)
	}
	_, err = s.Add(ctx, Actor{}, []New{{Subject: "never"}})
	wantError(t, err, context.Canceled)
	list, err := s.List(t.Context())
	wantList(t, "tasks", ids(ok(t, list, err)), []string{"1"})
	_, err = s.List(ctx)
	wantError(t, err, context.Canceled)
}

// TestFullQueue: a caller that finds the queue full can give up, and what it
// wanted does not happen.
func TestFullQueue(t *testing.T) {
	s := open(t, nil)
	release := hold(t, s)
	var wg sync.WaitGroup
	for i := range maxBatch {
		wg.Go(func() {
			if err := s.Put(context.Background(), fmt.Sprint("k", i), []byte("1")); err != nil {
				t.Error(err)
			}
		})
	}
	for len(s.in) < maxBatch {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- s.Put(ctx, "a", []byte("1")) }()
	cancel()
	wantError(t, <-result, context.Canceled)
	release()
	wg.Wait()
	wantValues(t, s, "")
}
