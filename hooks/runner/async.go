package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"
)

// defaultRewakeSummary is what people see for a hook that wakes an agent and has no
// summary of its own. The wording is that of recorded hosts.
const defaultRewakeSummary = "Stop hook feedback"

// Causes for ending a hook that runs in the background.
var (
	errTimedOut     = errors.New("its time is up")
	errSessionEnded = errors.New("it still ran when the session ended")
)

// backgroundHook is one hook that runs in the background.
type backgroundHook struct {
	*armed
	id      string
	session string
	byLine  bool // it asked for the background on its first line of output
	// interactive is Options.Interactive.
	interactive bool
	end         context.CancelCauseFunc
	done        chan struct{} // closed once it has ended and its observer has been told
}

// backgroundSet holds the hooks in the background. They have slots of their own, as many as
// the hooks in the foreground, so that a hook nobody waits for never delays one that
// somebody waits for.
type backgroundSet struct {
	slots chan struct{}

	mu      sync.Mutex
	running map[*backgroundHook]bool
	refused map[string]bool // sessions whose last turn end was refused
}

// newBackgroundSet returns a set of which at most parallel hooks run at once.
func newBackgroundSet(parallel int) *backgroundSet {
	return &backgroundSet{slots: make(chan struct{}, parallel), running: map[*backgroundHook]bool{},
		refused: map[string]bool{}}
}

// setRefused records whether the turn end of a session was refused.
func (s *backgroundSet) setRefused(session string, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.refused, session); refused {
		s.refused[session] = true
	}
}

// wasRefused reports whether the last turn end of a session was refused.
func (s *backgroundSet) wasRefused(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[session]
}

// add registers a hook that goes into the background. end must end it.
func (s *backgroundSet) add(h *armed, session string, end context.CancelCauseFunc) *backgroundHook {
	b := &backgroundHook{armed: h, id: uuid.NewString(), session: session, end: end, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[b] = true
	return b
}

// remove unregisters a hook that has ended. Its observer must have been told.
func (s *backgroundSet) remove(b *backgroundHook) {
	b.end(nil)
	s.mu.Lock()
	delete(s.running, b)
	s.mu.Unlock()
	close(b.done)
}

// of lists the hooks that run for a session; "" means all sessions.
func (s *backgroundSet) of(session string) []*backgroundHook {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*backgroundHook
	for b := range s.running {
		if session == "" || b.session == session {
			list = append(list, b)
		}
	}
	return list
}

// Drain waits until no hook of a session runs in the background; "" means all
// sessions. When ctx ends, it cancels those that still run, with all processes they
// started. All observers have been told everything when Drain returns. A caller of Run
// must drain each session, or all of them, in the end; a hook that is never waited for runs
// until its time is up.
func (r *Runner) Drain(ctx context.Context, session string) {
	for {
		running := r.background.of(session)
		if len(running) == 0 {
			return
		}
		// New hooks may go into the background meanwhile, so the list is read again until
		// it is empty.
		for _, b := range running {
			if ctx.Err() == nil {
				select {
				case <-b.done:
					continue
				case <-ctx.Done():
				}
			}
			for _, late := range running { // all at once, because each may use its grace period
				late.end(errSessionEnded)
			}
			<-b.done
		}
	}
}
