package launch

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// TestFirstStartsComeOneAfterAnother: until one program has opened its session, no two
// are being started; then all are, at once.
func TestFirstStartsComeOneAfterAnother(t *testing.T) {
	var starts firstStarts
	var inside, failed atomic.Int32
	var all sync.WaitGroup
	var meet sync.WaitGroup // of those that come when the folder is there
	meet.Add(5)
	opened := make(chan struct{})
	for range 9 {
		all.Go(func() {
			leave, err := starts.enter(t.Context(), "/home/.codex")
			if err != nil {
				t.Error(err)
				return
			}
			defer leave(true) // again: it counts once
			select {
			case <-opened:
				meet.Done()
				meet.Wait() // none of them may wait for another's end
				return
			default:
			}
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d programs start at once", n)
			}
			inside.Add(-1)
			if failed.Add(1) <= 3 {
				leave(false)
				return
			}
			close(opened)
			leave(true)
		})
	}
	all.Wait()
}

// TestFirstStartGivesUp: who waits goes when its turn is cut off, and the next may start;
// another folder is free all the while.
func TestFirstStartGivesUp(t *testing.T) {
	var starts firstStarts
	leave, err := starts.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := starts.enter(cut, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that was cut off: %v", err)
	}
	if other, err := starts.enter(t.Context(), "b"); err != nil {
		t.Error(err)
	} else {
		other(false)
	}
	leave(false)
	if next, err := starts.enter(t.Context(), "a"); err != nil {
		t.Error(err)
	} else {
		next(true)
	}
}

// TestCodexStartsAlone: the programs of all members that share a CODEX_HOME wait for each
// other, and only those.
func TestCodexStartsAlone(t *testing.T) {
	all := NewPrograms(Deps{})
	member := func(p preset) *instance { return &instance{programs: all, launch: Found{preset: p}} }
	if member(gemini()).enter(&offer{}) != nil {
		t.Error("gemini waits")
	}
	start := &offer{}
	start.set("HOME", os.TempDir())
	leave, err := member(codex()).enter(start)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave(true)
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := member(codex()).enter(start)(cut); !errors.Is(err, context.Canceled) {
		t.Errorf("a second start in the same folder: %v", err)
	}
	start.set("CODEX_HOME", "/somewhere/else")
	if elsewhere, err := member(codex()).enter(start)(t.Context()); err != nil {
		t.Error(err)
	} else {
		elsewhere(true)
	}
}
