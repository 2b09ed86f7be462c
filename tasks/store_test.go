package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

func TestOpenMakesAPrivateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	add(t, s, New{Description: strings.Repeat("x", store.InlineLimit+1)})
	for name, want := range map[string]fs.FileMode{path: 0o600, path + ".blobs": 0o700 | fs.ModeDir} {
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestOpenTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	for _, readOnly := range []bool{false, true} {
		start := time.Now()
		_, err := Open(path, &Options{ReadOnly: readOnly})
		wantError(t, err, ErrLocked, path, "only one covey")
		if took := time.Since(start); took > time.Minute {
			t.Errorf("it took %v to be refused", took)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path, nil)
}

func TestOpenNamesTheHolder(t *testing.T) {
	if _, err := os.ReadFile("/proc/locks"); err != nil {
		t.Skip("only Linux tells who holds a lock")
	}
	path := filepath.Join(t.TempDir(), "tasks.db")
	openAt(t, path, nil)
	_, err := Open(path, nil)
	if err != nil && strings.Contains(err.Error(), "another process") {
		t.Skip("this file system's locks are not in /proc/locks")
	}
	wantError(t, err, ErrLocked, "process "+strconv.Itoa(os.Getpid()))
}

func TestOpenWaitsForTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	first := openAt(t, path, nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(60 * time.Millisecond) // the lock is polled, so there is no event to wait for
		_ = first.Close()
	})
	second, err := Open(path, &Options{LockTimeout: time.Minute})
	wg.Wait()
	if err := ok(t, second, err).Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseTwiceAndCallsAfter(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	calls := map[string]func() error{
		"Create":  func() error { _, err := s.Create(ctx, actors.Actor{}, New{Subject: "s"}); return err },
		"Add":     func() error { _, err := s.Add(ctx, actors.Actor{}, nil); return err },
		"Confirm": func() error { _, err := s.Confirm(ctx, actors.Actor{}, "1"); return err },
		"Discard": func() error { return s.Discard(ctx, actors.Actor{}, "1", "") },
		"Claim":   func() error { _, err := s.Claim(ctx, as("ann"), "1", Claim{}); return err },
		"Update":  func() error { _, _, err := s.Update(ctx, actors.Actor{}, "1", Patch{}); return err },
		"Delete":  func() error { _, err := s.Delete(ctx, actors.Actor{}, "1", nil); return err },
		"Release": func() error { _, err := s.Release(ctx, actors.Actor{}, "ann", ""); return err },
		"Refuse":  func() error { return s.Refuse(ctx, actors.Actor{}, "1", "") },
		"Send": func() error {
			_, err := s.mail.Send(ctx, actors.Actor{}, mail.Outgoing{To: []string{"ann"}})
			return err
		},
		"Deliver":    func() error { return s.mail.Deliver(ctx, as("ann"), nil) },
		"Attach":     func() error { _, err := s.members.Attach(ctx, "ann", func() string { return "" }); return err },
		"SetMember":  func() error { return s.members.Set(ctx, actors.Member{Name: "ann"}) },
		"Put":        func() error { return s.Put(ctx, "k", nil) },
		"Settle":     func() error { return s.outbox.Remove(ctx, 1) },
		"Task":       func() error { _, err := s.Task(ctx, "1"); return err },
		"List":       func() error { _, err := s.List(ctx); return err },
		"Proposed":   func() error { _, err := s.Proposed(ctx); return err },
		"Ready":      func() error { _, err := s.Ready(ctx); return err },
		"Owned":      func() error { _, err := s.Owned(ctx, "ann"); return err },
		"InProgress": func() error { _, err := s.InProgress(ctx, "ann"); return err },
		"Snapshot":   func() error { _, err := s.Snapshot(ctx); return err },
		"Unread":     func() error { _, err := s.mail.Unread(ctx, "ann"); return err },
		"Members":    func() error { _, err := s.members.List(ctx); return err },
		"Value":      func() error { _, _, err := s.Value(ctx, "k"); return err },
		"Receipt":    func() error { _, _, err := s.Receipt(ctx, "ann", "c"); return err },
		"Events":     func() error { _, err := s.outbox.Events(ctx, 0, 0); return err },
		"Check":      func() error { return s.Check(ctx) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// TestCloseUnderLoad: every change is either done or refused with ErrClosed,
// and nothing is left running.
func TestCloseUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	quiet := goleak.IgnoreCurrent()
	s := openAt(t, path, nil)
	done := make([]int, 8)
	var wg sync.WaitGroup
	started := make(chan struct{}, len(done))
	for i := range done {
		wg.Go(func() {
			for {
				_, err := s.Add(context.Background(), actors.Actor{}, []New{{Subject: "s"}})
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
				if done[i]++; done[i] == 1 {
					started <- struct{}{}
				}
			}
		})
	}
	for range done {
		<-started
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	goleak.VerifyNone(t, quiet)
	total := 0
	for _, n := range done {
		total += n
	}
	again := openAt(t, path, nil)
	list, err := again.List(t.Context())
	if len(ok(t, list, err)) != total {
		t.Errorf("%d tasks, %d were acknowledged", len(list), total)
	}
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	long := strings.Repeat("y", store.InlineLimit+1)
	add(t, s, New{Description: long})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	readers := []*Store{openAt(t, path, &Options{ReadOnly: true}), openAt(t, path, &Options{ReadOnly: true})}
	for _, r := range readers {
		if get(t, r, "1").Description != long {
			t.Error("the description is another")
		}
		_, err := r.Claim(t.Context(), as("ann"), "1", Claim{})
		wantError(t, err, ErrReadOnly)
		_, err = r.Create(t.Context(), as("ann"), New{Subject: "s", Description: long})
		wantError(t, err, ErrReadOnly)
	}
	_, err := Open(path+"x", &Options{ReadOnly: true})
	wantError(t, err, fs.ErrNotExist)
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("text", []byte(strings.Repeat("this is no database\n", 1000)))
	write("short", []byte("x"))
	rawBolt(t, path("foreign"), func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("somebody else's"))
		return err
	})
	rawBolt(t, path("odd"), func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucketMeta))
		if err != nil {
			return err
		}
		return b.Put([]byte(keyFormat), []byte("one"))
	})
	rawBolt(t, path("newer"), func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucketMeta))
		if err != nil {
			return err
		}
		return b.Put([]byte(keyFormat), []byte(strconv.Itoa(formatNow+1)))
	})
	for name, want := range map[string]error{
		"text": ErrCorrupt, "short": ErrCorrupt, "foreign": ErrFormat, "odd": ErrFormat, "newer": ErrFormat,
	} {
		before, err := os.ReadFile(path(name))
		ok(t, before, err)
		_, err = Open(path(name), nil)
		wantError(t, err, want, path(name))
		if after, _ := os.ReadFile(path(name)); string(after) != string(before) {
			t.Errorf("%s was changed", name)
		}
	}
	_, err := Open(path("newer"), nil)
	wantError(t, err, ErrFormat, fmt.Sprintf("format %d", formatNow+1), fmt.Sprintf("up to %d", formatNow), "newer covey")
	_, err = Open(filepath.Join(dir, "no", "such", "folder"), nil)
	wantError(t, err, fs.ErrNotExist)
}

// rawBolt changes a bbolt file behind the store's back.
func rawBolt(t testing.TB, path string, change func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Minute, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(change); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
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
	before, err := os.ReadFile(path)
	ok(t, before, err)
	for _, readOnly := range []bool{true, false} {
		opts := withBackups
		opts.ReadOnly = readOnly
		_, err := Open(path, &opts)
		wantError(t, err, ErrFormat, "use a newer covey")
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %v", err)
		}
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file was changed")
	}
}

// TestReaderOfAnUnfinishedFile: a reader refuses a file that was cut off while it was made.
func TestReaderOfAnUnfinishedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	rawBolt(t, path, func(*bolt.Tx) error { return nil })
	before, err := os.ReadFile(path)
	ok(t, before, err)
	_, err = Open(path, &Options{ReadOnly: true})
	wantError(t, err, ErrFormat, "holds no store yet")
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file was changed")
	}
}

func TestWake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	rang := func() bool {
		select {
		case <-s.outbox.Wake():
			return true
		default:
			return false
		}
	}
	if rang() {
		t.Error("an empty store wakes")
	}
	add(t, s, New{})
	add(t, s, New{})
	if !rang() || rang() {
		t.Error("two changes give one token")
	}
	if err := s.Put(t.Context(), "k", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), as("ann"), "99", Claim{}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if rang() {
		t.Error("changes without events wake")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	if !rang() {
		t.Error("events from before Open do not wake")
	}
}

// TestClockDoesNotMatter: order and rules hold when the clock jumps.
func TestClockDoesNotMatter(t *testing.T) {
	now := fixed
	var mu sync.Mutex
	s := open(t, &Options{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	for i, at := range []time.Time{fixed, fixed.AddDate(1, 0, 0), fixed.AddDate(0, 0, -1), time.Unix(-5, 0), {}} {
		mu.Lock()
		now = at
		mu.Unlock()
		_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: strconv.Itoa(i)})
		ok(t, 0, err)
		add(t, s, New{})
	}
	wantList(t, "mail", unread(t, s, "bob"), []string{
		"text ann: 0", "text ann: 1", "text ann: 2", "text ann: 3", "text ann: 4"})
	wantList(t, "ready", readyIDs(t, s), []string{"1", "2", "3", "4", "5"})
	if have := get(t, s, "2").Created; !have.Equal(fixed.AddDate(1, 0, 0)) {
		t.Errorf("created %v", have)
	}
}
