package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// A held member takes no turns until it is resumed or the operator writes to it
// (DESIGN 10.13). The turn that it is in when it is held goes on to its end, unless it
// is interrupted.

// keyHolds is where the store has the holds, so that they outlive the process.
const keyHolds = "holds"

// hold is who keeps a member from taking turns, and since when.
type hold struct {
	By    string    `json:"by"` // the operator, or the lead
	Since time.Time `json:"since"`
	// Cut says that a turn was broken off, so that the member has work of which nothing
	// else tells.
	Cut bool `json:"cut,omitempty"`
}

// calledBy reports whether the operator has written since. What was written before an
// interrupt and not read by then counts as well: it is what the member is to do instead.
func (h hold) calledBy(letters []mail.Message) bool {
	return slices.ContainsFunc(letters, func(m mail.Message) bool {
		return fromOperator(m) && (h.Cut || m.Sent.After(h.Since))
	})
}

// holds are the holds of a team, by member.
type holds struct {
	store *tasks.Store

	mu   sync.Mutex
	list map[string]hold
}

// openHolds reads the holds from a team's store.
func openHolds(ctx context.Context, store *tasks.Store) (*holds, error) {
	h := &holds{store: store, list: map[string]hold{}}
	if err := tasks.ReadValue(ctx, store, keyHolds, &h.list); err != nil {
		return nil, fmt.Errorf("who is held: %w", err)
	}
	return h, nil
}

// of is a member's hold; false: it is not held. A nil holds has none.
func (h *holds) of(member string) (hold, bool) {
	if h == nil {
		return hold{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	held, ok := h.list[member]
	return held, ok
}

// set holds a member, and keeps that a turn of its was cut off before.
func (h *holds) set(ctx context.Context, member string, to hold) error {
	return h.change(ctx, func(list map[string]hold) {
		to.Cut = to.Cut || list[member].Cut
		list[member] = to
	})
}

// lift ends a member's hold.
func (h *holds) lift(ctx context.Context, member string) error {
	return h.change(ctx, func(list map[string]hold) { delete(list, member) })
}

// change changes the list in the store, and then here.
func (h *holds) change(ctx context.Context, edit func(map[string]hold)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := maps.Clone(h.list)
	if next == nil {
		next = map[string]hold{}
	}
	edit(next)
	if err := h.store.Put(ctx, keyHolds, rawjson.Encode(next)); err != nil {
		return fmt.Errorf("keep who is held: %w", err)
	}
	h.list = next
	return nil
}

// HoldRequest asks for a member to be held, or with Resume to go on.
type HoldRequest struct {
	Member string `json:"member"`
	Resume bool   `json:"resume,omitempty"`
	As     string `json:"as,omitempty"` // must be empty or the caller's own name
}

func (r HoldRequest) onBehalf() (string, bool)           { return r.As, false }
func (r HoldRequest) inNameOf(member string) HoldRequest { r.As = member; return r }

// HoldReply says how a member stands after a HoldRequest.
type HoldReply struct {
	Member  string `json:"member"`
	Held    bool   `json:"held"`
	Changed bool   `json:"changed"` // false: it stood so before
	InTurn  bool   `json:"in_turn"` // it is in a turn, which goes on
}

// MemberHeld and MemberResumed are the journal's words for the two.
type (
	// MemberHeld is sent when a member is held.
	MemberHeld struct {
		By  string `json:"by"`
		Cut bool   `json:"cut,omitempty"` // a turn was broken off with it
	}
	// MemberResumed is sent when it may go on.
	MemberResumed struct {
		By string `json:"by"`
	}
)

// EventType is the journal's name for it.
func (MemberHeld) EventType() string { return "member_held" }

// EventType is the journal's name for it.
func (MemberResumed) EventType() string { return "member_resumed" }

// goOnText is what a member whose turn was broken off reads when it is resumed.
const goOnText = "Go on."

// holdFor holds or resumes a member for the operator or the lead.
func (c *crew) holdFor(ctx context.Context, r HoldRequest) (HoldReply, error) {
	s, ok := c.seat(r.Member)
	if !ok {
		return HoldReply{}, c.board.known(r.Member)
	}
	by, lead := actors.Operator, c.seats()[0].member.Name
	held, is := c.holds.of(r.Member)
	switch {
	case r.As == "":
	case r.As != lead:
		return HoldReply{}, bus.Errorf(bus.CodeDenied, "only the operator and the lead hold members and resume them")
	case r.Member == lead:
		return HoldReply{}, bus.Errorf(bus.CodeDenied, "the lead cannot hold or resume itself; end the turn instead")
	case r.Resume && is && held.By == actors.Operator:
		return HoldReply{}, bus.Errorf(bus.CodeDenied,
			"the operator holds %s, and only the operator can resume it", r.Member)
	default:
		by = r.As
	}
	c.mu.Lock()
	inTurn, gone := !s.idle, s.gone
	c.mu.Unlock()
	if gone != "" {
		return HoldReply{}, bus.Errorf(bus.CodeInvalid, "%s takes no more turns: %s", r.Member, gone)
	}
	reply := HoldReply{Member: r.Member, Held: !r.Resume, Changed: is == r.Resume, InTurn: inTurn}
	if r.Resume {
		return reply, c.resume(ctx, s, by)
	}
	if is && (held.By == actors.Operator || by != actors.Operator) {
		return reply, nil
	}
	return reply, c.hold(ctx, s, hold{By: by})
}

// hold keeps a member from its next turn.
func (c *crew) hold(ctx context.Context, s *seat, h hold) error {
	h.Since = c.clock.Now()
	if err := c.holds.set(ctx, s.member.Name, h); err != nil {
		return err
	}
	c.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: MemberHeld{By: h.By, Cut: h.Cut}})
	c.poke()
	return nil
}

// resume lets a held member go on: with its tasks and mail, or, where a turn of its was
// broken off, with a word that tells it so. It is stored first, for a hold that was
// lifted without it would leave the member with nothing to do.
func (c *crew) resume(ctx context.Context, s *seat, by string) error {
	h, held := c.holds.of(s.member.Name)
	if !held {
		return nil
	}
	if h.Cut {
		if err := sendGoOn(ctx, c.store, s.member.Name); err != nil {
			return err
		}
	}
	return c.unhold(ctx, s, by)
}

// unhold ends a hold.
func (c *crew) unhold(ctx context.Context, s *seat, by string) error {
	if err := c.holds.lift(ctx, s.member.Name); err != nil {
		return err
	}
	c.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: MemberResumed{By: by}})
	c.poke()
	return nil
}

// sendGoOn has a member go on with what it was interrupted in.
func sendGoOn(ctx context.Context, store *tasks.Store, member string) error {
	_, err := store.Mail().Send(ctx, actors.Actor{Name: actors.Operator}, mail.Outgoing{
		To: []string{member}, Kind: mail.OperatorMessage, Text: goOnText,
	})
	if err != nil {
		return fmt.Errorf("resume %s: %w", member, err)
	}
	return nil
}

// HoldStopped holds or resumes a member of a team that does not run, for the operator.
// The next run heeds it. It fails with ErrRunning if the team runs after all.
func HoldStopped(ctx context.Context, p state.Place, r HoldRequest) (reply HoldReply, err error) {
	reply = HoldReply{Member: r.Member, Held: !r.Resume}
	if _, err := os.Stat(p.Store()); err != nil {
		return reply, fmt.Errorf("team %s has never run: %w", p.Team, err)
	}
	lock, err := state.LockTeam(p)
	if err != nil {
		return reply, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Backups: storeBackups})
	if err != nil {
		return reply, fmt.Errorf("hold: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	h, err := openHolds(ctx, store)
	if err != nil {
		return reply, err
	}
	held, is := h.of(r.Member)
	reply.Changed = is == r.Resume
	switch {
	case !r.Resume:
		return reply, h.set(ctx, r.Member, hold{By: actors.Operator, Since: time.Now()})
	case is && held.Cut:
		if err := sendGoOn(ctx, store, r.Member); err != nil {
			return reply, err
		}
	}
	return reply, h.lift(ctx, r.Member)
}

// HeldIn are the members of a team that are held, from its store, sorted by name.
func HeldIn(ctx context.Context, store *tasks.Store) ([]string, error) {
	h, err := openHolds(ctx, store)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(h.list)), nil
}

// view tells plan who is held.
func (h *holds) view(seats []seatView) {
	for i := range seats {
		held, ok := h.of(seats[i].Name)
		seats[i].Held = ok && !held.calledBy(seats[i].Unread)
		seats[i].HeldCut = seats[i].Held && held.Cut
	}
}

// heldWork says which held members the team would need to go on, and how; empty: nobody
// but them can do anything for the work that is left, or none is left.
func heldWork(s scene) string {
	var names []string
	for _, seat := range s.Seats {
		if seat.Held && !seat.Gone && (seat.HeldCut || leftTo(s, seat)) {
			names = append(names, seat.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	known := map[string]bool{}
	for _, t := range openTasks(s.Tasks) {
		if !heldUp(s, t, known) {
			return ""
		}
	}
	return fmt.Sprintf("%s is held; `covey resume %s`, or a message to it, lets it go on",
		strings.Join(names, " and "), names[0])
}

// leftTo reports whether a held member has something to do.
func leftTo(s scene, seat seatView) bool {
	show, _ := sortMail(seat.Unread, s.Tasks, seat.Name)
	return len(show) > 0 || s.hasWork(seat) ||
		seat.Lead && len(s.Tasks) > 0 && len(openTasks(s.Tasks)) == 0 && s.Reports != fingerprint(s.Tasks)
}

// heldUp reports whether a task waits for a held member, be it for a blocker. known has what
// was found out about other tasks: many may wait for the same one.
func heldUp(s scene, t tasks.Task, known map[string]bool) bool {
	if up, ok := known[t.ID]; ok {
		return up
	}
	by := openBlockers(t, s.Tasks)
	up := slices.ContainsFunc(by, func(b tasks.Task) bool { return heldUp(s, b, known) })
	switch {
	case len(by) > 0:
	case t.Owner != "":
		owner, ok := s.seat(t.Owner)
		up = ok && owner.Held && !owner.Gone
	default:
		up = slices.ContainsFunc(s.Seats, func(m seatView) bool {
			return m.Held && !m.Gone && m.SelfClaim && suits(t, m.Skills)
		})
	}
	known[t.ID] = up
	return up
}

// held reports whether the member is held; crew.mu may be held.
func (s *seat) held() bool {
	_, held := s.crew.holds.of(s.member.Name)
	return held
}

// reportHolds tells the journal of a new run who is held since an earlier one.
func (c *crew) reportHolds() {
	for _, s := range c.seats() {
		if h, held := c.holds.of(s.member.Name); held {
			c.journal.Append(agent.Event{Member: s.member.Name, Data: MemberHeld{By: h.By, Cut: h.Cut}})
		}
	}
}
