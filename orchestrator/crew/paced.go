package crew

import (
	"cmp"
	"context"
	"slices"

	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/mail"
)

// unread is what a member was not shown so far.
type unread struct {
	mail  []mail.Message
	notes []mail.Note // of the lead
	whole bool        // false: a replay waits for more
	// What a replay does not show yet.
	laterMail  []mail.Message
	laterNotes []mail.Note
}

// Act does something whose result depends on what other members did before: a replay does it in its order.
func (s *Seat) Act(ctx context.Context, do func() error) error {
	err := s.lane.Act(ctx, do)
	if s.lane.Replays() {
		s.crew.deps.Loop.Poke() // others may go on
	}
	return err
}

// Act is Seat.Act for a member, or for a person, who has no seat.
func (l *Seats) Act(ctx context.Context, member string, do func() error) error {
	if seat, ok := l.Of(member); ok {
		return seat.Act(ctx, do)
	}
	return do()
}

// letters are the mail and notes for recordings.
func letters(list []mail.Message, notes []mail.Note) []recordings.Letter {
	all := make([]recordings.Letter, 0, len(list)+len(notes))
	for _, m := range list {
		all = append(all, recordings.Letter{ID: m.ID, Text: cmp.Or(m.From, "covey") + ": " + m.Text})
	}
	for _, n := range notes {
		all = append(all, recordings.Letter{ID: n.ID, Text: teamtools.NoteInputs([]mail.Note{n})[0].Text})
	}
	return all
}

// unread returns what the member may be shown now: at the begin of a turn, or within one. Reminders wait
// for the end of a turn.
func (s *Seat) unread(ctx context.Context, begins bool) (unread, error) {
	list, _, err := s.crew.deps.Board.Unread(ctx, &s.received)
	if err != nil {
		return unread{}, err
	}
	if !begins {
		list = slices.DeleteFunc(list, func(m mail.Message) bool { return m.Kind == mail.Reminder })
	}
	u := unread{mail: list, whole: true}
	if s.Member.Lead && (len(list) > 0 || s.lane.Replays()) {
		if u.notes, err = s.crew.deps.Notes.List(ctx); err != nil {
			return unread{}, err
		}
	}
	if !s.lane.Replays() {
		return u, nil
	}
	due, whole := s.lane.Due(letters(list, u.notes), begins)
	now := unread{whole: whole}
	for _, at := range due {
		if at < len(list) {
			now.mail = append(now.mail, list[at])
		} else {
			now.notes = append(now.notes, u.notes[at-len(list)])
		}
	}
	for i, m := range list {
		if !slices.Contains(due, i) {
			now.laterMail = append(now.laterMail, m)
		}
	}
	for i, n := range u.notes {
		if !slices.Contains(due, len(list)+i) {
			now.laterNotes = append(now.laterNotes, n)
		}
	}
	return now, nil
}

// await waits until the crew's loop sees that what the member waits for in its turn has come, or cannot
// come any more.
func (s *Seat) await(ctx context.Context) error {
	s.mu.Lock()
	held := make(chan struct{})
	s.held = held
	s.mu.Unlock()
	s.crew.deps.Loop.Poke()
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		s.letGo()
		return ctx.Err()
	}
}

// awaits reports whether await waits.
func (s *Seat) awaits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held != nil
}

// letGo ends await.
func (s *Seat) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

// kept is a member that a replay keeps waiting for mail, or mail from which.
type kept struct {
	seat   *Seat
	place  int // in the scene
	inTurn bool
}

// pace keeps the mail of a replay back until it is due, and its members from other work meanwhile.
func (d *director) pace(ctx context.Context, s *plan.Scene, seats []*Seat) error {
	d.kept = nil
	for i, m := range seats {
		v := &s.Seats[i]
		inTurn := m.lane.Replays() && m.awaits()
		if !m.lane.Replays() || v.Gone || !v.Idle && !inTurn {
			continue
		}
		u, err := m.unread(ctx, !inTurn)
		if err != nil {
			return err
		}
		waits := !u.whole
		switch {
		case inTurn && u.whole:
			m.letGo()
		case !inTurn:
			v.Unread = u.mail
			v.Idle = u.whole
			later, _ := plan.SortMail(u.laterMail, s.Tasks, m.Member.Name)
			waits = waits || len(later) > 0
			if v.SelfClaim && !m.lane.Acts() { // others claimed tasks before it did
				v.SelfClaim, waits = false, true
			}
		}
		if waits {
			d.kept = append(d.kept, kept{m, i, inTurn})
		}
	}
	return nil
}

// keepOn returns the moves of a team some of whose members a replay keeps waiting. If nobody else works,
// nothing can come for them any more: then they go on without.
func (d *director) keepOn(ctx context.Context, s plan.Scene, moves []plan.Move) ([]plan.Move, error) {
	if len(d.kept) == 0 || len(moves) > 0 && !rests(moves) {
		return moves, nil
	}
	asIf := s
	asIf.Seats = slices.Clone(s.Seats)
	isIdle := true
	for _, k := range d.kept {
		asIf.Seats[k.place].Idle, asIf.Seats[k.place].Unread = true, nil
		isIdle = isIdle && !k.inTurn
	}
	if isIdle {
		// What the lead is told when a team rests may be what it waits for.
		if moves := plan.Next(asIf); rests(moves) && moves[0].Kind != plan.Finish {
			return moves, nil
		}
	}
	for _, k := range d.kept {
		asIf.Seats[k.place].Awaits = "mail" // so that it gets no work
	}
	if !rests(plan.Next(asIf)) {
		return moves, nil
	}
	for _, k := range d.kept {
		u, err := k.seat.unread(ctx, !k.inTurn)
		if err != nil {
			return nil, err
		}
		k.seat.lane.Free(letters(append(u.mail, u.laterMail...), append(u.notes, u.laterNotes...)), !k.inTurn)
	}
	d.c.deps.Loop.Poke()
	return nil, nil
}

// rests reports whether moves are those of a team in which nobody works.
func rests(moves []plan.Move) bool {
	return len(moves) == 1 && slices.Contains([]plan.Kind{plan.Finish, plan.TellLead, plan.AskReport, plan.GiveNotes, plan.WaitLimit}, moves[0].Kind)
}
