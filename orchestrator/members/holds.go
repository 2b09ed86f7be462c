package members

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// holdsKey is the store key of the holds.
const holdsKey = "holds"

// Hold describes who keeps a member from taking turns, and since when.
type Hold struct {
	By    string    `json:"by"` // the operator, or the lead
	Since time.Time `json:"since"`
	// Cut means that a turn was interrupted. The member would not continue that work by itself.
	Cut bool `json:"cut,omitempty"`
}

// Holds keep members from taking turns until they are resumed or the operator writes to
// them. A turn that runs when its member is held goes on to its end,
// unless it is interrupted.
type Holds struct {
	store *tasks.Store
	clock Clock
	tell  func(member string, e events.Data)

	mu   sync.Mutex
	list map[string]Hold
}

// OpenHolds reads the holds from a team's store. It passes each change to tell once it is
// stored.
func OpenHolds(
	ctx context.Context, store *tasks.Store, c Clock, tell func(member string, e events.Data),
) (*Holds, error) {
	h := &Holds{store: store, clock: c, tell: tell, list: map[string]Hold{}}
	if err := tasks.ReadValue(ctx, store, holdsKey, &h.list); err != nil {
		return nil, fmt.Errorf("read the holds: %w", err)
	}
	return h, nil
}

// Of returns a member's hold; false: it is not held.
func (h *Holds) Of(member string) (Hold, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held, ok := h.list[member]
	return held, ok
}

// Members returns the held members, sorted by name.
func (h *Holds) Members() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.list))
}

// Describe sets which members are held. It implements crew.Describer.
func (h *Holds) Describe(s *plan.Scene, _ []*Member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) == 0 {
		return
	}
	for i := range s.Seats {
		seat := &s.Seats[i]
		var hold Hold
		hold, seat.Held = h.list[seat.Name]
		seat.HeldSince, seat.HeldCut, seat.HeldByPerson = hold.Since, hold.Cut, hold.By == actors.Operator
	}
}

// Hold keeps a member from its next turn. cut says that a turn was interrupted; the mark
// of an earlier hold stays.
func (h *Holds) Hold(ctx context.Context, member, by string, cut bool) error {
	err := h.change(ctx, func(list map[string]Hold) {
		list[member] = Hold{By: by, Since: h.clock.Now(), Cut: cut || list[member].Cut}
	})
	if err == nil {
		h.tell(member, events.MemberHeld{By: by, Cut: cut})
	}
	return err
}

// Joined journals a hold that an earlier run has left. It implements crew.Joiner.
func (h *Holds) Joined(_ context.Context, m *Member) error {
	if held, ok := h.Of(m.Name); ok {
		h.tell(m.Name, events.MemberHeld{By: held.By, Cut: held.Cut})
	}
	return nil
}

// Resume ends a member's hold, if any. A member whose turn was interrupted gets a message
// to continue. The message is stored first, because without it the member would have
// nothing to do.
func (h *Holds) Resume(ctx context.Context, member, by string) error {
	held, ok := h.Of(member)
	if !ok {
		return nil
	}
	if held.Cut {
		_, err := h.store.Mail().Send(ctx, actors.Actor{Name: actors.Operator}, mail.Outgoing{
			To: []string{member}, Kind: mail.OperatorMessage, Text: "Go on.",
		})
		if err != nil {
			return fmt.Errorf("resume %s: %w", member, err)
		}
	}
	return h.Lift(ctx, member, by)
}

// Lift ends a member's hold without a message.
func (h *Holds) Lift(ctx context.Context, member, by string) error {
	err := h.change(ctx, func(list map[string]Hold) { delete(list, member) })
	if err == nil {
		h.tell(member, events.MemberResumed{By: by})
	}
	return err
}

// change edits the holds, first in the store.
func (h *Holds) change(ctx context.Context, edit func(map[string]Hold)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := maps.Clone(h.list)
	if next == nil {
		next = map[string]Hold{}
	}
	edit(next)
	if err := h.store.Put(ctx, holdsKey, texts.Encode(next)); err != nil {
		return fmt.Errorf("store the holds: %w", err)
	}
	h.list = next
	return nil
}
