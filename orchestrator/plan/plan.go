// Package plan decides what a team does next, from a snapshot of it alone: it
// reads no clock, changes nothing and waits for nothing. It is covey's own and
// makes no promise to other programs.
//
// Next takes a Scene, which holds the tasks, the mail and the state of each
// member's seat, and returns the moves in the order in which they are to be made.
// The same scene gives the same moves, so every rule about who works next is
// tested without a team.
package plan

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// MaxNudges is how often an idle member is reminded of an unchanged task before
// it needs attention.
const MaxNudges = 3

// Scene is a snapshot of the team, the input of Next.
type Scene struct {
	Tasks       []tasks.Task // in list order
	Seats       []Seat       // the lead first, then in file order
	Exhausted   string       // which part of its budget the team has used up; empty: none
	Stopped     string       // why no turn may begin any more; empty if turns may begin
	AtLimit     bool         // a usage limit that the team has to wait for stops it
	LastImpasse string       // the impasse that the lead was last told of
	LastReport  string       // the finished list that the lead last reported on
	// Merging holds the tasks whose work is being merged.
	Merging map[string]bool
	Busy    bool // something goes on whose result may give a member work, so the team does not end
	// Free is how many more turns may begin, by agent. There is no limit without
	// an entry.
	Free map[string]int
	// Noted is set if notes of idle members wait that are worth a turn of the
	// lead.
	Noted   bool
	Digests int // consecutive turns of the lead for notes only
	// Changes is the time until the scene changes although nothing happens; nil: it does not.
	Changes *time.Duration

	index *TaskIndex // of Tasks; Next makes it
	seats *seatIndex // of Seats; likewise
}

// Seat is what Next knows of one member.
type Seat struct {
	Name      string
	Lead      bool
	Turn      int    // number of its present or last turn, also of earlier runs; 0: it has taken none
	Idle      bool   // waits for work; false: takes a turn, or has just been given one
	Helped    bool   // a helper works for it, whose result will be mail
	Awaited   bool   // a background hook may still wake it
	Runs      bool   // a command runs in its background, whose end will be mail
	Gone      bool   // halted or failed for good: takes no more turns
	GoneFor   string // why
	Attention string
	Held      bool // somebody keeps it from taking turns; LiftHolds may end that
	HeldSince time.Time
	HeldCut   bool // a turn was interrupted
	// HeldByPerson means that the operator holds it, and not the lead.
	HeldByPerson bool
	Spent        string    // which of its own or the team's limits is used up; empty: none
	LastWord     bool      // it was told that, and to hand over
	Agent        string    // key of Scene.Free
	Lock         Lock      // its agent cannot be used for now
	Until        time.Time // LockUsedUp and LockFailed only: for how long
	LockText     string    // LockUsedUp only, with AtLimit: for people
	Borrowed     bool      // the lock is another member's, on the same login
	SelfClaim    bool
	DependsOn    []string // members whose open work it waits for
	HeldBy       string   // the one of them that has some; Next finds it out
	Skills       tasks.Skills
	OnlyReads    bool // it can change nothing, so it takes only tasks that want something
	Unread       []mail.Message
	MailWaits    []tasks.Task // open tasks that other mail for it waits for
	Awaits       string       // whose answer it waits for, which comes as mail; empty: nobody's
	// AwaitsFrom is the member that has to give that answer; empty for a person.
	AwaitsFrom string
	Questions  string // the requests that it is to be reminded of, as a mark; empty: none
	// Unanswered lists the ids of requests that it was reminded of MaxNudges times
	// and has not answered; empty: none.
	Unanswered string
	// Nudged counts the reminders by mark since it last had other work. A single
	// count would never reach its limit for a member that owes an answer and a
	// task, because reminders of the one would reset the count of the other.
	Nudged  map[string]int
	Refused string // how its tasks' gates last refused since it had other work; empty: they did not
}

// ChangesIn records that the scene changes in a time although nothing happens.
func (s *Scene) ChangesIn(d time.Duration) {
	if s.Changes == nil || d < *s.Changes {
		s.Changes = &d
	}
}

// Kind is the kind of a move.
type Kind string

// The moves of a plan.
const (
	GiveMail  Kind = "mail"  // hand Member all of its unread mail
	GiveGoOn  Kind = "go on" // let Member go on that was locked out
	WaitLimit Kind = "wait"  // nothing to do but to wait Until, for Names
	GiveClaim Kind = "claim" // claim Tasks[0] for Member and hand it over
	GiveNudge Kind = "nudge" // remind Member of Tasks
	// GiveQuestions reminds Member of what others wait to hear from it.
	GiveQuestions Kind = "questions"
	NeedAttention Kind = "attention" // Member needs attention: Reason
	TellLead      Kind = "tell"      // tell the lead of the impasse Reason
	GiveNotes     Kind = "notes"     // give the lead what idle members have left for it
	AskReport     Kind = "report"    // ask the lead for its last report
	Finish        Kind = "finish"    // the team is at rest: end it
)

// Move is one step of a plan. Fields that a kind does not use are zero.
type Move struct {
	Kind   Kind
	Member string
	Tasks  []tasks.Task
	Reason string
	Mark   string // fingerprint to remember: nudges, impasses, reports and waits
	Done   bool   // finish only: everything is done
	Limit  bool   // finish only: a limit is why, and ends also a team that is to be kept up
	Held   bool   // finish only: the operator holds the work that is left, and the team stays up for it
	Names  []string
	Until  time.Time
}

// Next returns the moves for a scene, or none to wait. It is called after each
// change, and depends only on the scene, in which the effects of earlier moves
// are visible.
func Next(s Scene) []Move {
	if s.AtLimit && s.Stopped == "" {
		s.Stopped = atLimit(withIndexes(s))
	}
	if s.Exhausted != "" || s.Stopped != "" {
		return windDown(withIndexes(s))
	}
	var moves []Move
	working, held := map[string]bool{}, map[string]string{}
	s.Free = maps.Clone(s.Free)
	busy := len(s.Merging) > 0 || s.Busy
	s = indexed(s)
	order, depend := inOrder(s)
	for _, seat := range order {
		if seat.Gone {
			continue
		}
		if !seat.Idle {
			busy = true
			continue
		}
		busy = busy || seat.Helped || seat.Runs || seat.Awaited || seat.AwaitsFrom != "" || seat.Lock == LockFailed && !seat.Held
		seat.HeldBy = heldBy(s, seat, working)
		if seat.HeldBy != "" {
			held[seat.Name] = seat.HeldBy
		}
		if m, ok := next(s, seat); ok {
			if len(moves) == cap(moves) {
				moves = slices.Grow(moves, len(moves)+1) // append alone would copy a long list more often
			}
			moves = append(moves, m)
			if depend {
				working[seat.Name] = true
			}
			if _, limited := s.Free[seat.Agent]; limited {
				s.Free[seat.Agent]--
			}
		}
	}
	if len(moves) == 0 {
		s.Seats = withHeld(s.Seats, held)
		if m, ok := allWait(s); ok {
			return []Move{m}
		}
	}
	// The team is at rest only if no member works or gets work, because a working
	// member may create tasks or write to others.
	if busy || len(moves) > 0 {
		return moves
	}
	if m, ok := waits(s); ok {
		return []Move{m}
	}
	return withMail(s, atRest(s))
}

// next returns the move of an idle member. It is not ok if there is none.
func next(s Scene, seat Seat) (Move, bool) {
	if seat.Held {
		return Move{}, false
	}
	if seat.Spent != "" {
		return last(s, seat)
	}
	// Each attempt of a member that is locked out costs a request to the vendor,
	// so only a person can cause one.
	called := slices.ContainsFunc(seat.Unread, FromOperator)
	if !seat.Borrowed && (seat.Lock == LockOver || seat.Lock != "" && called) {
		return Move{Kind: GiveGoOn, Member: seat.Name}, true
	}
	if seat.Lock != "" && !(seat.Borrowed && called) {
		return Move{}, false
	}
	if seat.HeldBy != "" {
		return onlyMail(s, seat)
	}
	show, moot := SortMail(seat.Unread, s.Tasks, seat.Name)
	if len(show)+len(moot) > 0 && !(len(moot) == 0 && leadWaits(s, seat, show)) {
		return Move{Kind: GiveMail, Member: seat.Name}, true
	}
	if seat.Questions != "" && seat.Attention == "" {
		return Move{Kind: GiveQuestions, Member: seat.Name, Mark: seat.Questions}, true
	}
	if seat.Awaits != "" {
		return ignored(seat) // the answer is mail
	}
	// Mail comes before attention, because it may help a member in trouble, and
	// own tasks come before tasks without an owner.
	if seat.Attention != "" {
		return Move{}, false // only mail or a person can help it
	}
	own := s.index.Actable(seat.Name)
	if len(own) > 0 && (seat.Helped || seat.Runs) {
		return Move{}, false // it waits for its helper or command, and needs no reminder
	}
	if len(own) > 0 {
		return remind(seat, own), true
	}
	if m, ok := ignored(seat); ok {
		return m, true
	}
	// Mail and reminders are the member's own and can wait for a slot. A task
	// without an owner is not claimed before there is one, because another member
	// might do it meanwhile.
	if free, limited := s.Free[seat.Agent]; !seat.SelfClaim || limited && free <= 0 {
		return Move{}, false
	}
	if t := s.index.take(seat); t != nil {
		return Move{Kind: GiveClaim, Member: seat.Name, Tasks: t}, true
	}
	return Move{}, false
}

// ignored reports that a member needs attention because it does not answer. Without
// it a team waits for the deadline of the request, and no person knows why.
func ignored(seat Seat) (Move, bool) {
	if seat.Unanswered == "" || seat.Attention != "" {
		return Move{}, false
	}
	return Move{
		Kind: NeedAttention, Member: seat.Name, Mark: seat.Unanswered,
		Reason: "it was reminded " + strconv.Itoa(MaxNudges) + " times of what others ask and does not answer: " +
			seat.Unanswered + " (covey inbox shows it)",
	}, true
}

// remind reminds a member of its own tasks, or reports that it needs attention.
func remind(seat Seat, own []tasks.Task) Move {
	mark := Fingerprint(own)
	if seat.Nudged[mark] >= MaxNudges {
		m := Move{
			Kind: NeedAttention, Member: seat.Name, Tasks: own,
			Reason: "it was reminded " + strconv.Itoa(MaxNudges) + " times of " + tasks.NamesOf(own) + " and nothing changed",
		}
		if seat.Refused != "" {
			m.Reason += "; its gates last refused: " + texts.Short(seat.Refused, 200)
		}
		return m
	}
	return Move{Kind: GiveNudge, Member: seat.Name, Tasks: own, Mark: mark}
}
