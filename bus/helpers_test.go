package bus

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// mustEmbed starts a bus that is closed when the test ends. Errors that reach
// OnError are collected.
func mustEmbed(tb testing.TB, opts Options) (*Bus, *errorLog) {
	tb.Helper()
	log := &errorLog{arrived: make(chan struct{}, 1024)}
	opts.OnError = log.add
	b, err := Embed(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return b, log
}

// errorLog collects what OnError was told.
type errorLog struct {
	mu      sync.Mutex
	errs    []error
	arrived chan struct{}
}

func (l *errorLog) add(err error) {
	l.mu.Lock()
	l.errs = append(l.errs, err)
	l.mu.Unlock()
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// wait returns the first error that fits, once there is one.
func wait[E error](t *testing.T, l *errorLog) E {
	t.Helper()
	deadline := time.After(patience)
	for {
		l.mu.Lock()
		for _, err := range l.errs {
			var e E
			if errors.As(err, &e) {
				l.mu.Unlock()
				return e
			}
		}
		l.mu.Unlock()
		select {
		case <-l.arrived:
		case <-deadline:
			t.Fatalf("no such error was reported; there were %v", l.errs)
		}
	}
}

func (l *errorLog) none(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errs) > 0 {
		t.Errorf("reported errors: %v", l.errs)
	}
}

// mustListen opens a control socket on which every caller is id.
func mustListen(tb testing.TB, b *Bus, id Identity) string {
	tb.Helper()
	return mustListenBy(tb, b, func(net.Conn) (Identity, error) { return id, nil })
}

func mustListenBy(tb testing.TB, b *Bus, identify func(net.Conn) (Identity, error)) string {
	tb.Helper()
	path := filepath.Join(privateTemp(tb), "control.sock")
	if err := b.Listen(path, identify); err != nil {
		tb.Fatal(err)
	}
	return path
}

// mustDial connects to path; the connection is closed when the test ends.
func mustDial(tb testing.TB, path string) *Bus {
	tb.Helper()
	b, err := Dial(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return b
}

// receive returns what comes next on a channel.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// closes waits until a channel is closed.
func closes(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s: did not happen", what)
	}
}

// within is a context for one request.
func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	tb.Cleanup(cancel)
	return ctx
}
