// Package plan decides what a team does next, from a snapshot of it alone: it reads no
// clock, changes nothing and waits for nothing. It is covey's own and makes no promise to
// other programs.
//
// Next takes a Scene, which holds the tasks, the mail and the state of each member's seat,
// and returns the moves in the order in which they are to be made. The same scene gives
// the same moves, so every rule about who works next is tested without a team.
package plan

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// MaxNudges is how often an idle member is reminded of a task that it owns,
// with nothing changed in between, before it needs attention (DESIGN 10.1).
const MaxNudges = 3

// Scene is one snapshot of the team: what Next decides on.
type Scene struct {
	Tasks   []tasks.Task // in list order
	Seats   []Seat       // the lead first, then in file order
	Broke   string       // what of its budget the team has used up; empty: nothing
	Stopped string       // why no turn may begin any more; empty: they may
	AtLimit bool         // a usage limit that the team has to wait for stops it
	Told    string       // the impasse that the lead was last told of
	Reports string       // the finished list that the lead last reported on
	// Merging are the tasks whose work is on its way into its branch.
	Merging map[string]bool
	Asked   bool // a question is open whose time has not run out
	// Free is how many more turns may begin, by agent; no entry: any number.
	Free map[string]int
	// Noted: idle members have answered something that the lead has not heard.
	Noted   bool
	Digests int // turns in a row that the lead was given for that

	index *TaskIndex // of Tasks; Next makes it
	seats *seatIndex // of Seats; likewise
}

// Seat is what Next knows of one member.
type Seat struct {
	Name      string
	Lead      bool
	Began     bool   // it has taken a turn, in this run or an earlier one
	Idle      bool   // waits for work; false: takes a turn, or has just been given one
	Helped    bool   // a helper works beside it, whose result will be mail
	Awaited   bool   // a hook in the background may wake it yet
	Gone      bool   // halted or failed for good: takes no more turns
	GoneFor   string // why
	Attention string
	Held      bool      // somebody keeps it from taking turns
	HeldCut   bool      // and has broken one off
	Spent     string    // which of its own or the team's limits is used up; empty: none
	LastWord  bool      // it was told that, and to hand over
	Agent     string    // key of Scene.Free
	Lock      Lock      // its agent cannot be used for now
	Until     time.Time // LockUsedUp and LockFailed only: for how long
	LockText  string    // LockUsedUp only, with AtLimit: for people
	Borrowed  bool      // the lock is another member's, on the same login
	SelfClaim bool
	DependsOn []string // members whose open work it waits for
	HeldBy    string   // the one of them that has some; Next finds it out
	Skills    tasks.Skills
	Unread    []mail.Message
	MailWaits []tasks.Task // open tasks that other mail for it waits for
	Awaits    string       // whose answer it waits for, which comes as mail; empty: nobody's
	// AwaitsFrom is the member that is to give that answer; empty: a person is.
	AwaitsFrom string
	Questions  string // those of others that it is to be reminded of, as a mark; empty: none
	// Nudged counts the reminders of each mark since it last had other work. One count
	// for all marks would never end where it owes an answer and a task: reminders of the
	// one would start the count of the other again.
	Nudged map[string]int
}

// Kind says what the crew is to do.
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

// Move is one thing to do. Fields that a kind does not use are zero.
type Move struct {
	Kind   Kind
	Member string
	Tasks  []tasks.Task
	Reason string
	Mark   string // fingerprint to remember: nudges, impasses, reports and waits
	Done   bool   // finish only: everything is done
	Limit  bool   // finish only: a limit is why, and ends also a team that is to be kept up
	Names  []string
	Until  time.Time
}

// Next decides what is to be done in a scene; no moves means wait. It is
// called after every change and must be a function of the scene alone: one
// call's moves, once carried out, are visible in the next scene.
func Next(s Scene) []Move {
	if s.AtLimit && s.Stopped == "" {
		s.Stopped = atLimit(withIndexes(s))
	}
	if s.Broke != "" || s.Stopped != "" {
		return windDown(withIndexes(s))
	}
	var moves []Move
	working, held := map[string]bool{}, map[string]string{}
	s.Free = maps.Clone(s.Free)
	busy := len(s.Merging) > 0 || s.Asked // what comes of it may be news for somebody
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
		busy = busy || seat.Helped || seat.Awaited || seat.Awaits != "" || seat.Lock == LockFailed && !seat.Held
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
	// Only when nobody works and nobody is given anything can the team be at rest:
	// whoever works may still make tasks or write to others.
	if busy || len(moves) > 0 {
		return moves
	}
	if m, ok := waits(s); ok {
		return []Move{m}
	}
	return withMail(s, atRest(s))
}

// next is what an idle member should do now, if anything.
func next(s Scene, seat Seat) (Move, bool) {
	if seat.Held {
		return Move{}, false
	}
	if seat.Spent != "" {
		return last(s, seat)
	}
	// Each try of a member that is locked out costs an answer of the vendor's, so
	// only a person can cause one.
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
	// Reminders end like those of tasks. Nobody is given up for it: the question has a
	// deadline, and whoever waits is told then.
	if seat.Questions != "" && seat.Attention == "" {
		return Move{Kind: GiveQuestions, Member: seat.Name, Mark: seat.Questions}, true
	}
	if seat.Awaits != "" {
		return Move{}, false // the answer is mail
	}
	// Mail comes before attention, and own tasks before those of nobody: what
	// somebody wrote may be the help that a member in trouble needs.
	if seat.Attention != "" {
		return Move{}, false // only mail, or a person, helps it on
	}
	own := s.index.Actable(seat.Name)
	if len(own) > 0 && seat.Helped {
		return Move{}, false // it waits for its helper, and does not forget
	}
	if len(own) > 0 {
		return remind(seat, own), true
	}
	// Mail and reminders wait for a slot in the member's hands; a task that nobody
	// has might be somebody else's meanwhile.
	if free, limited := s.Free[seat.Agent]; !seat.SelfClaim || limited && free <= 0 {
		return Move{}, false
	}
	if t := s.index.take(seat); t != nil {
		return Move{Kind: GiveClaim, Member: seat.Name, Tasks: t}, true
	}
	return Move{}, false
}

// remind nudges a member about its own tasks, or gives up on it.
func remind(seat Seat, own []tasks.Task) Move {
	mark := Fingerprint(own)
	if seat.Nudged[mark] >= MaxNudges {
		return Move{
			Kind: NeedAttention, Member: seat.Name, Tasks: own,
			Reason: "it was reminded " + strconv.Itoa(MaxNudges) + " times of " + tasks.NamesOf(own) + " and nothing changed",
		}
	}
	return Move{Kind: GiveNudge, Member: seat.Name, Tasks: own, Mark: mark}
}
