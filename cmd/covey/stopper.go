package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
)

// errStopped is the cause of the context of a run that a signal has ended.
var errStopped = errors.New("interrupted")

// twice is how soon a second signal counts as a wish of its own. A terminal
// that goes away may send several at once.
const twice = 100 * time.Millisecond

// stopper turns Ctrl-C and signals into the end of a run: the first ends it in
// order, the second ends the program at once. What it does to the outside are
// fields, so that a test can press twice and live.
type stopper struct {
	tell    func(string) // shows what happens; nil: nobody looks
	restore func()       // puts the terminal in order before a sudden end; nil: nothing to do
	kill    func()       // ends all processes below this one
	exit    func(int)    // ends the program

	mu     sync.Mutex
	first  time.Time // of the first wish to stop
	cancel context.CancelCauseFunc
}

// newStopper returns a stopper that ends this process. Whoever shows the run
// fills in tell and restore once there is something to show.
func newStopper() *stopper { return &stopper{kill: killChildren, exit: os.Exit} }

// watch returns a context that ends with the first wish to stop, and what stops
// listening for signals. It is for the time of one run only: before and after,
// signals do what they do to every program.
func (s *stopper) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// With a listener a closed pipe fails the write instead of ending us; it
	// must be no more than that, for the team has to be stopped in order.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-signals:
				s.press()
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipes)
		close(quit)
		<-done
		cancel(nil)
	}
}

// press is one wish to stop. The terminal comes before the processes, and those
// before the exit: if the person has to press a third time, the screen at least
// is in order.
func (s *stopper) press() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.first.IsZero():
		s.first = now
		s.say("stopping in order; Ctrl-C again stops at once")
		s.cancel(errStopped)
	case now.Sub(s.first) >= twice:
		if s.restore != nil {
			s.restore()
		}
		s.kill()
		s.exit(cli.ExitInterrupted)
	}
}

// lost ends the run in order because nobody reads its output any more. It is
// what head and a closed pager do, and it is not worth a different code than
// Ctrl-C: both mean that nobody wants more of this. It does not count as a
// first Ctrl-C: a person who presses it next gets an end in order and not a
// sudden one.
func (s *stopper) lost(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say("the output cannot be written (" + term.PlainLine(err.Error()) + "); stopping in order")
	s.cancel(errStopped)
}

// show says who shows what happens and what puts the terminal in order; nil:
// nobody, nothing. Signals may come in at any moment, hence the lock.
func (s *stopper) show(tell func(string), restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell, s.restore = tell, restore
}

// say shows what happens, if somebody looks. The caller holds mu, so that
// notices come one after the other.
func (s *stopper) say(text string) {
	if s.tell != nil {
		s.tell(text)
	}
}
