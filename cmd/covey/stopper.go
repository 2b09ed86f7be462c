package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
)

// errStopped is the cause of a run's context after a signal. It has the fault and the exit code of
// context.Canceled.
var errStopped error = stoppedError{}

type stoppedError struct{}

func (stoppedError) Error() string { return "interrupted" }
func (stoppedError) Unwrap() error { return context.Canceled }

// pressInterval is the least time between two signals that count as two presses. A
// terminal that is closed may send several at once.
const pressInterval = 100 * time.Millisecond

// termInterval is the same for signals other than that of Ctrl-C: a supervisor and a shell may both
// pass on one.
const termInterval = time.Second

// stopper turns Ctrl-C and signals into the end of a run: the first ends it in order,
// the second ends the program at once. Its side effects are fields, so that a test
// can press twice and survive.
type stopper struct {
	tell    func(string) // shows a notice; nil: no output
	restore func()       // restores the terminal before an immediate exit; nil: not needed
	kill    func()       // ends all processes below this one
	exit    func(int)    // ends the program

	mu     sync.Mutex
	first  time.Time // time of the first press
	cancel context.CancelCauseFunc
}

// newStopper returns a stopper for this process. show sets tell and restore later.
func newStopper() *stopper { return &stopper{kill: killChildren, exit: os.Exit} }

// watch returns a context that ends with the first signal, and a function that stops
// listening. Before and after a run, signals have their default effect.
func (s *stopper) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// With a listener a write to a closed pipe fails instead of killing the process,
	// so that the team can be stopped in order.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case sig := <-signals:
				if sig == os.Interrupt {
					s.press()
				} else {
					s.wish(termInterval)
				}
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

// press handles Ctrl-C.
func (s *stopper) press() { s.wish(pressInterval) }

// wish handles one request to stop, which is the first one again if that is less than least ago. The
// terminal comes before the processes, and those before the exit: if a third one is needed, at least
// the screen is restored.
func (s *stopper) wish(least time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.first.IsZero():
		s.first = now
		s.say("stopping in order; Ctrl-C again stops at once")
		s.cancel(errStopped)
	case now.Sub(s.first) >= least:
		if s.restore != nil {
			s.restore()
		}
		s.kill()
		s.exit(cli.ExitInterrupted)
	}
}

// outputLost ends the run in order because its output cannot be written, as with head
// or a closed pager. The exit code is that of Ctrl-C. It does not count as a first
// press: the next Ctrl-C still ends the run in order.
func (s *stopper) outputLost(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say("the output cannot be written (" + term.PlainLine(err.Error()) + "); stopping in order")
	s.cancel(errStopped)
}

// endWith ends the run in order once in has nothing more to read: the program that started
// this one has ended, in whatever way. Nobody waits for the reader, because a read of standard
// input cannot be broken off; it ends with this program.
func (s *stopper) endWith(in io.Reader) {
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error ends the input, too
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancel(errStopped)
	}()
}

// show sets the functions that show notices and restore the terminal; each may be
// nil. It takes the lock because signals may come at any time.
func (s *stopper) show(tell func(string), restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell, s.restore = tell, restore
}

// say shows a notice, if there is a display. The caller holds mu, so that notices do
// not mix.
func (s *stopper) say(text string) {
	if s.tell != nil {
		s.tell(text)
	}
}
