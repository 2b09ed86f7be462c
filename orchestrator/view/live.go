package view

import (
	"context"
	"slices"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
)

// Live is the State of a running team. It takes events as they happen, before they have a line, and
// the committed changes of the store once they are committed, so a slow or full journal does not
// delay it. Numbers in its State count events; they are not those of lines. Any goroutine may call
// its methods.
type Live struct {
	outbox Outbox // nil: only events come, in tests

	mu      sync.Mutex
	state   State
	begun   bool           // the present run has begun
	early   []events.Event // happened before
	stored  uint64         // the last change of the store that state has
	version uint64         // of the outbox when it was last read
}

// Outbox has the committed changes that have no line yet. *tasks.Outbox implements it.
type Outbox interface {
	Version() uint64
	Events(ctx context.Context, after uint64, limit int) ([]tasks.Event, error)
}

// NewLive returns the State of a team without a past.
func NewLive(outbox Outbox) *Live { return &Live{outbox: outbox} }

// Recall applies a line of an earlier run.
func (l *Live) Recall(e events.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Apply(e)
	l.stored = max(l.stored, e.Store)
}

// Apply applies an event after the changes of the store that were committed before it, which may be
// its cause. An event before the first one of the run comes after that.
func (l *Live) Apply(e events.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.early = append(l.early, e)
		if !begins(e) {
			return
		}
		l.begun = true
		for _, e := range slices.Insert(l.early[:len(l.early)-1], 0, e) {
			l.add(e)
		}
		l.early = nil
		return
	}
	l.catchUp()
	l.add(e)
}

// CatchUp applies the changes that the store has committed. Its reader calls it before it removes
// them.
func (l *Live) CatchUp() { l.Read(func(*State) {}) }

// Read calls do with the State, of which do must keep nothing that Apply changes. All that was
// committed before the call is in it.
func (l *Live) Read(do func(*State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.catchUp()
	do(&l.state)
}

// Position is where a member stands in its turns.
type Position struct {
	Turn, Pass int
	InTurn     bool
	Refused    string // Member.Refused
}

// Position returns where a member stands in its turns; zero before its first event.
func (l *Live) Position(member string) Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.state.Member(member); m != nil {
		return Position{m.Turn, m.Pass, m.InTurn, m.Refused}
	}
	return Position{}
}

// Done returns what a member has done in this run. Its lists only grow.
func (l *Live) Done(member string) (done accounts.Done) {
	l.Read(func(s *State) {
		if m := s.Member(member); m != nil {
			done = m.Done
		}
	})
	return done
}

// Said returns the whole of what a member said last in this run; empty: nothing.
func (l *Live) Said(member string) (said string) {
	l.Read(func(s *State) { said = s.member(member).Said })
	return said
}

// Reported returns the number of the last report of a member's node that is a line of the journal.
func (l *Live) Reported(member string) (number uint64) {
	l.Read(func(s *State) { number = s.member(member).Reported })
	return number
}

// Status returns a member as `covey ps` shows it.
func (l *Live) Status(member string) (status api.MemberStatus) {
	l.Read(func(s *State) { status = s.member(member).Status() })
	return status
}

// Waits reports whether a member waits for something of a kind.
func (l *Live) Waits(member string, kind events.WaitKind) (waits bool) {
	l.Read(func(s *State) { waits = s.member(member).Waits[kind].For != "" })
	return waits
}

// WaitsOnOthers reports whether others decide when a member goes on.
func (l *Live) WaitsOnOthers(member string) (waits bool) {
	l.Read(func(s *State) { waits = s.member(member).waitsOnOthers() })
	return waits
}

// Unreported returns the tasks that a member has completed since it last wrote to the lead.
func (l *Live) Unreported(member string) (ids []string) {
	l.Read(func(s *State) {
		if m := s.Member(member); m != nil {
			ids = slices.Clone(m.Unreported)
		}
	})
	return ids
}

// add applies an event under the next number. l.mu must be held.
func (l *Live) add(e events.Event) {
	e.Seq = l.state.Seq + 1
	l.state.Apply(e)
}

// catchUp applies the committed changes that are new, if the run has begun. What cannot be read now is
// read later; the journal reads the same and reports the error. l.mu must be held.
func (l *Live) catchUp() {
	if l.outbox == nil || !l.begun {
		return
	}
	for now := l.outbox.Version(); l.version != now; {
		list, err := l.outbox.Events(context.Background(), l.stored, 0)
		if err != nil {
			return
		}
		for _, e := range list {
			l.add(events.Stored(e))
			l.stored = e.ID
		}
		if len(list) == 0 {
			l.version = now
		}
	}
}
