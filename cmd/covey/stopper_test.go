package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a stopper that only notes what it would do.
type watched struct {
	*stopper
	did []string
}

// newWatched returns a watched stopper with a context that it ends.
func newWatched() (*watched, context.Context) {
	w := &watched{}
	note := func(what string) func() { return func() { w.did = append(w.did, what) } }
	w.stopper = &stopper{
		tell: func(text string) { w.did = append(w.did, text) }, restore: note("restore"), kill: note("kill"),
		exit: func(code int) { w.did = append(w.did, "exit"); w.did = append(w.did, string(rune('0'+code%10))) },
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	w.cancel = cancel
	return w, ctx
}

// TestStopperOnce: the first wish ends the run in order and says how to hurry.
func TestStopperOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ctx := newWatched()
		w.press()
		if !errors.Is(context.Cause(ctx), errStopped) {
			t.Errorf("the run ended with %v, want %v", context.Cause(ctx), errStopped)
		}
		if len(w.did) != 1 || !strings.Contains(w.did[0], "Ctrl-C again stops at once") {
			t.Errorf("did %q", w.did)
		}
	})
}

// TestStopperTwice: the second wish restores the terminal, then kills, then
// exits; but signals that come together are one wish.
func TestStopperTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newWatched()
		w.press()
		w.press()
		time.Sleep(pressInterval / 2)
		w.press()
		if len(w.did) != 1 {
			t.Fatalf("signals that came together did %q", w.did)
		}
		time.Sleep(pressInterval)
		w.press()
		if want := []string{"restore", "kill", "exit", "0"}; !slices.Equal(w.did[1:], want) {
			t.Errorf("the second wish did %q, want %q", w.did[1:], want)
		}
	})
}

// TestStopperTerm: a second TERM within a second is the same one.
func TestStopperTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newWatched()
		w.wish(termInterval)
		time.Sleep(termInterval - time.Nanosecond)
		w.wish(termInterval)
		if len(w.did) != 1 {
			t.Fatalf("a TERM passed on twice did %q", w.did)
		}
		time.Sleep(time.Nanosecond)
		w.wish(termInterval)
		if want := []string{"restore", "kill", "exit", "0"}; !slices.Equal(w.did[1:], want) {
			t.Errorf("a later one did %q, want %q", w.did[1:], want)
		}
	})
}

// TestStopperLost: a reader who has gone ends the run in order; that nobody
// looks any more is no trouble.
func TestStopperLost(t *testing.T) {
	w, ctx := newWatched()
	w.tell = nil
	w.outputLost(syscall.EPIPE)
	if !errors.Is(context.Cause(ctx), errStopped) || len(w.did) != 0 {
		t.Errorf("cause %v, did %q", context.Cause(ctx), w.did)
	}
}

// TestStopperWatch: real signals are wishes while somebody watches.
func TestStopperWatch(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		w, _ := newWatched()
		ctx, stop := w.watch(t.Context())
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if err := self.Signal(sig); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(scriptPatience):
			t.Errorf("%v did not end the run", sig)
		}
		stop()
		if !errors.Is(context.Cause(ctx), errStopped) {
			t.Errorf("%v: cause %v", sig, context.Cause(ctx))
		}
	}
}

// TestStopperDone: when the run is over, nothing is left that listens, and the
// context is released.
func TestStopperDone(t *testing.T) {
	w, _ := newWatched()
	ctx, stop := w.watch(t.Context())
	stop()
	if ctx.Err() == nil || len(w.did) != 0 {
		t.Errorf("context %v, did %q", ctx.Err(), w.did)
	}
}

// TestStopperEndsWithInput: a run ends in order once nobody can write to its input, and
// that does not count as a wish of the operator.
func TestStopperEndsWithInput(t *testing.T) {
	w, ctx := newWatched()
	in, starter := io.Pipe()
	w.endWith(in)
	if _, err := starter.Write([]byte("what it says does not matter\n")); err != nil || ctx.Err() != nil {
		t.Fatalf("a starter that lives: %v, the run %v", err, ctx.Err())
	}
	_ = starter.Close()
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), errStopped) || len(w.did) != 0 {
		t.Errorf("cause %v, did %q", context.Cause(ctx), w.did)
	}
}
