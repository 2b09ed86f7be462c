package port

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
)

// Roster knows which members of a team are on which nodes. It is the coordinator's end of the port.
type Roster struct {
	hub  Hub
	lost func(node string) bool

	mu      sync.Mutex
	members map[string]*Afar
	known   map[string]bool // members that have had a life
}

// NewRoster returns a Roster without members. lost reports whether a node does not answer.
func NewRoster(hub Hub, lost func(node string) bool) *Roster {
	return &Roster{hub: hub, lost: lost, members: map[string]*Afar{}, known: map[string]bool{}}
}

// Mate returns the Mate of a new life of a member. An earlier life has ended.
func (r *Roster) Mate(s Seat) *Afar {
	a := &Afar{seat: s, roster: r, seated: make(chan struct{}), idle: make(chan Idle, 1), ended: make(chan Ended, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	a.first = !r.known[s.Member]
	r.known[s.Member] = true
	r.members[s.Member] = a
	return a
}

// remove takes a member's place away, once its life has ended.
func (r *Roster) remove(a *Afar) {
	a.mu.Lock()
	leave := a.leave
	a.node, a.leave = "", nil
	a.mu.Unlock()
	if leave != nil {
		leave()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.members[a.seat.Member] == a {
		delete(r.members, a.seat.Member)
	}
}

// NodeOf returns the node of a member; empty: it is on none.
func (r *Roster) NodeOf(member string) string {
	r.mu.Lock()
	a := r.members[member]
	r.mu.Unlock()
	if a == nil {
		return ""
	}
	return a.Node()
}

// find returns the life that something is from, if it is on that node.
func (r *Roster) find(node string, from From) (*Afar, error) {
	a := r.of(from.Member)
	if a == nil || a.seat.Life != from.Life || a.Node() != node {
		return nil, fmt.Errorf("%w: %s of %s", ErrNoSeat, from.Member, node)
	}
	return a, nil
}

// of returns the life of a member; nil: it has none.
func (r *Roster) of(member string) *Afar {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[member]
}

// asking is find for a request. If it was sent under an earlier coordinator, it is known later whether its
// life goes on.
func (r *Roster) asking(ctx context.Context, node string, from From) (*Afar, error) {
	a := r.of(from.Member)
	if a == nil || a.seat.Life <= from.Life || !a.first {
		return r.find(node, from)
	}
	select {
	case <-a.seated:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	a.mu.Lock()
	if a.adopted {
		from.Life = a.seat.Life
	}
	a.mu.Unlock()
	return r.find(node, from)
}

// Ask answers a request of a node. Only members that are on it may ask.
func (r *Roster) Ask(ctx context.Context, node, _, method string, in json.RawMessage) (json.RawMessage, error) {
	var ask Ask
	if err := json.Unmarshal(in, &ask); err != nil || method != methodAsk {
		return nil, fmt.Errorf("a request %q of %s cannot be read: %v", method, node, err)
	}
	a, err := r.asking(ctx, node, ask.From)
	if err != nil {
		return nil, err
	}
	given := ask.copy()
	if err := a.take(ctx, given); err != nil {
		return nil, err
	}
	out, err := a.answer(ctx, ask)
	if err == nil && given.Head != "" { // what the team has made of the work, such as a commit, belongs into its copy
		out.Copy, err = a.give(ctx)
	}
	if err != nil {
		return nil, err
	}
	return texts.Marshal(out)
}

// Report processes a report of a node. What has happened in lives that have ended is told if the member has
// sat there last, and otherwise their reports change nothing.
func (r *Roster) Report(ctx context.Context, node string, number uint64, _ string, body json.RawMessage) error {
	var in Reported
	if err := json.Unmarshal(body, &in); err != nil {
		return nil // it would come again for ever
	}
	a, err := r.find(node, in.From)
	if err == nil {
		return a.report(ctx, number, in.Report)
	}
	if a = r.of(in.Member); a == nil || number <= a.seat.Reported {
		return nil
	}
	if sat, err := r.hub.Sat(ctx, in.Member); err != nil || sat != node {
		return err
	}
	return a.tell(ctx, number, in.Report)
}
