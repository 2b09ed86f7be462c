package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"
)

// defaultRewakeSummary is what people read of a hook that wakes an agent where
// it has no summary of its own. The words are those of recorded hosts.
const defaultRewakeSummary = "Stop hook feedback"

// Why a hook in the background is ended before it ends by itself.
var (
	errLate    = errors.New("its time is up")
	errSettled = errors.New("it still ran when the session ended")
)

// errand is one hook in the background.
type errand struct {
	*armed
	id      string
	session string
	byLine  bool // it asked for it on its first line
	// interactive is Options.Interactive.
	interactive bool
	end         context.CancelCauseFunc
	done        chan struct{} // closed once it has ended and its observer knows
}

// errands are the hooks in the background. They have slots of their own, as
// many as there are for the others: hooks that nobody waits for hold up none that
// somebody does.
type errands struct {
	slots chan struct{}

	mu      sync.Mutex
	running map[*errand]bool
}

// newErrands makes errands of which at most parallel run at once.
func newErrands(parallel int) *errands {
	return &errands{slots: make(chan struct{}, parallel), running: map[*errand]bool{}}
}

// add takes note of a hook that goes into the background. end must end it.
func (es *errands) add(h *armed, session string, end context.CancelCauseFunc) *errand {
	e := &errand{armed: h, id: uuid.NewString(), session: session, end: end, done: make(chan struct{})}
	es.mu.Lock()
	defer es.mu.Unlock()
	es.running[e] = true
	return e
}

// remove says that a hook has ended and all has been told of it.
func (es *errands) remove(e *errand) {
	e.end(nil)
	es.mu.Lock()
	delete(es.running, e)
	es.mu.Unlock()
	close(e.done)
}

// of lists what runs for a session; "" is all sessions.
func (es *errands) of(session string) []*errand {
	es.mu.Lock()
	defer es.mu.Unlock()
	var list []*errand
	for e := range es.running {
		if session == "" || e.session == session {
			list = append(list, e)
		}
	}
	return list
}

// Settle waits until no hook of a session runs in the background any more; ""
// means all sessions. When ctx ends, it ends those that still run, with all that
// they have started, as cancelled. Their observers have been told of everything
// when it returns. Whoever has let events run settles each session, or all, in
// the end; a hook that nobody settles runs on until its time is up.
func (r *Runner) Settle(ctx context.Context, session string) {
	for {
		running := r.errands.of(session)
		if len(running) == 0 {
			return
		}
		for _, e := range running {
			if ctx.Err() == nil {
				select {
				case <-e.done:
					continue
				case <-ctx.Done():
				}
			}
			for _, late := range running { // all at once: each may take its grace
				late.end(errSettled)
			}
			<-e.done
		}
	}
}
