package orchestrator

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// maxNudges is how often an idle member is reminded of a task that it owns,
// with nothing changed in between, before it needs attention (DESIGN 10.1).
const maxNudges = 3

// scene is one snapshot of the team: what plan decides on.
type scene struct {
	Tasks   []tasks.Task // in list order
	Seats   []seatView   // the lead first, then in file order
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

	index *taskIndex // of Tasks; plan makes it
	seats *seatIndex // of Seats; likewise
}

// seatView is what plan knows of one member.
type seatView struct {
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
	Agent     string    // key of scene.Free
	Lock      lockState // its agent cannot be used for now
	Until     time.Time // lockUsedUp and lockFailed only: for how long
	LockText  string    // lockUsedUp only: for people
	Borrowed  bool      // the lock is another member's, on the same login
	SelfClaim bool
	DependsOn []string // members whose open work it waits for
	HeldBy    string   // the one of them that has some; plan finds it out
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

// moveKind says what the crew is to do.
type moveKind string

// The moves of a plan.
const (
	giveMail  moveKind = "mail"  // hand Member all of its unread mail
	giveGoOn  moveKind = "go on" // let Member go on that was locked out
	waitLimit moveKind = "wait"  // nothing to do but to wait Until, for Names
	giveClaim moveKind = "claim" // claim Tasks[0] for Member and hand it over
	giveNudge moveKind = "nudge" // remind Member of Tasks
	// giveQuestions reminds Member of what others wait to hear from it.
	giveQuestions moveKind = "questions"
	attention     moveKind = "attention" // Member needs attention: Reason
	tellLead      moveKind = "tell"      // tell the lead of the impasse Reason
	giveNotes     moveKind = "notes"     // give the lead what idle members have left for it
	askReport     moveKind = "report"    // ask the lead for its last report
	finish        moveKind = "finish"    // the team is at rest: end it
)

// move is one thing to do. Fields that a kind does not use are zero.
type move struct {
	Kind   moveKind
	Member string
	Tasks  []tasks.Task
	Reason string
	Mark   string // fingerprint to remember: nudges, impasses, reports and waits
	Done   bool   // finish only: everything is done
	Limit  bool   // finish only: a limit is why, and ends also a team that is to be kept up
	Names  []string
	Until  time.Time
}

// plan decides what is to be done in a scene; no moves means wait. It is
// called after every change and must be a function of the scene alone: one
// call's moves, once carried out, are visible in the next scene.
func plan(s scene) []move {
	if s.AtLimit && s.Stopped == "" {
		s.Stopped = atLimit(withIndexes(s))
	}
	if s.Broke != "" || s.Stopped != "" {
		return windDown(withIndexes(s))
	}
	var moves []move
	working, held := map[string]bool{}, map[string]string{}
	s.Free = maps.Clone(s.Free)
	busy := len(s.Merging) > 0 || s.Asked // what comes of it may be news for somebody
	s = indexed(s)
	for _, seat := range inOrder(s) {
		if seat.Gone {
			continue
		}
		if !seat.Idle {
			busy = true
			continue
		}
		busy = busy || seat.Helped || seat.Awaited || seat.Awaits != "" || seat.Lock == lockFailed && !seat.Held
		seat.HeldBy = heldBy(s, seat, working)
		if seat.HeldBy != "" {
			held[seat.Name] = seat.HeldBy
		}
		if m, ok := next(s, seat); ok {
			moves, working[seat.Name] = append(moves, m), true
			if _, limited := s.Free[seat.Agent]; limited {
				s.Free[seat.Agent]--
			}
		}
	}
	if len(moves) == 0 {
		s.Seats = withHeld(s.Seats, held)
		if m, ok := allWait(s); ok {
			return []move{m}
		}
	}
	// Only when nobody works and nobody is given anything can the team be at rest:
	// whoever works may still make tasks or write to others.
	if busy || len(moves) > 0 {
		return moves
	}
	if m, ok := waits(s); ok {
		return []move{m}
	}
	return withMail(s, atRest(s))
}

// next is what an idle member should do now, if anything.
func next(s scene, seat seatView) (move, bool) {
	if seat.Held {
		return move{}, false
	}
	if seat.Spent != "" {
		return last(s, seat)
	}
	// Each try of a member that is locked out costs an answer of the vendor's, so
	// only a person can cause one.
	called := slices.ContainsFunc(seat.Unread, fromOperator)
	if !seat.Borrowed && (seat.Lock == lockOver || seat.Lock != "" && called) {
		return move{Kind: giveGoOn, Member: seat.Name}, true
	}
	if seat.Lock != "" && !(seat.Borrowed && called) {
		return move{}, false
	}
	if seat.HeldBy != "" {
		return onlyMail(s, seat)
	}
	show, moot := sortMail(seat.Unread, s.Tasks, seat.Name)
	if len(show)+len(moot) > 0 && !(len(moot) == 0 && leadWaits(s, seat, show)) {
		return move{Kind: giveMail, Member: seat.Name}, true
	}
	// Reminders end like those of tasks. Nobody is given up for it: the question has a
	// deadline, and whoever waits is told then.
	if seat.Questions != "" && seat.Attention == "" {
		return move{Kind: giveQuestions, Member: seat.Name, Mark: seat.Questions}, true
	}
	if seat.Awaits != "" {
		return move{}, false // the answer is mail
	}
	// Mail comes before attention, and own tasks before those of nobody: what
	// somebody wrote may be the help that a member in trouble needs.
	if seat.Attention != "" {
		return move{}, false // only mail, or a person, helps it on
	}
	own := s.index.actable(seat.Name)
	if len(own) > 0 && seat.Helped {
		return move{}, false // it waits for its helper, and does not forget
	}
	if len(own) > 0 {
		return remind(seat, own), true
	}
	// Mail and reminders wait for a slot in the member's hands; a task that nobody
	// has might be somebody else's meanwhile.
	if free, limited := s.Free[seat.Agent]; !seat.SelfClaim || limited && free <= 0 {
		return move{}, false
	}
	if t, ok := s.index.take(seat); ok {
		return move{Kind: giveClaim, Member: seat.Name, Tasks: []tasks.Task{t}}, true
	}
	return move{}, false
}

// remind nudges a member about its own tasks, or gives up on it.
func remind(seat seatView, own []tasks.Task) move {
	mark := fingerprint(own)
	if seat.Nudged[mark] >= maxNudges {
		return move{
			Kind: attention, Member: seat.Name, Tasks: own,
			Reason: "it was reminded " + strconv.Itoa(maxNudges) + " times of " + taskNames(own) + " and nothing changed",
		}
	}
	return move{Kind: giveNudge, Member: seat.Name, Tasks: own, Mark: mark}
}

// atRest decides what follows when nobody works and nobody has anything to do.
func atRest(s scene) []move {
	lead := s.Seats[0]
	leadHears := !lead.Gone && lead.Attention == "" && !lead.Held
	if reason := heldWork(s); reason != "" {
		return []move{{Kind: finish, Reason: reason}}
	}
	open := openTasks(s.Tasks)
	if len(open) == 0 {
		mark := fingerprint(s.Tasks)
		// A team without tasks has had its answer in the lead's turns.
		if len(s.Tasks) > 0 && s.Reports != mark && leadHears {
			return []move{{Kind: askReport, Member: lead.Name, Mark: mark}}
		}
		return unlessNoted(s, move{Kind: finish, Done: true, Reason: "all work is done"})
	}
	reason := impasse(s, open)
	mark := fingerprint(open)
	// Once for each state of the list: a lead that answers nothing must not be told
	// for ever, and one that changes something is told of what is left.
	if s.Told != mark && leadHears {
		return []move{{Kind: tellLead, Member: lead.Name, Reason: reason, Mark: mark}}
	}
	return unlessNoted(s, move{Kind: finish, Reason: reason})
}

// impasse says which open tasks nobody can take, and why.
func impasse(s scene, open []tasks.Task) string {
	why := make([]string, len(open))
	for i, t := range open {
		why[i] = tasks.Named(t.ID) + " " + strconv.Quote(subjectLine(t)) + " " + stuck(s, t)
	}
	return "nobody can go on: " + strings.Join(why, "; ") + inCircle(s) + missed(s, open) + keptMail(s)
}

// stuck says why one open task does not move while everybody is idle.
func stuck(s scene, t tasks.Task) string {
	if by := openBlockers(t, s.Tasks); len(by) > 0 {
		return "is blocked by " + taskNames(by)
	}
	if t.Owner == "" {
		return "is ready, but " + untaken(s, t)
	}
	owner, ok := s.seat(t.Owner)
	switch {
	case !ok:
		return "belongs to " + t.Owner + ", who is no member"
	case owner.Gone:
		return "belongs to " + t.Owner + ", who takes no more turns"
	case owner.Held:
		return "belongs to " + t.Owner + ", who is held"
	case owner.Attention != "":
		return "belongs to " + t.Owner + ", who needs attention: " + owner.Attention
	}
	if by := heldBy(s, *owner, nil); by != "" {
		return "belongs to " + t.Owner + ", who waits until " + by + " has no open work (depends_on)"
	}
	return "belongs to " + t.Owner
}

// waits is what a team does in which nobody has anything to do, but somebody
// will once a usage limit is over.
func waits(s scene) (move, bool) {
	m := move{Kind: waitLimit}
	var mark strings.Builder
	for i := range s.Seats {
		seat := &s.Seats[i]
		if seat.Gone || seat.Held || seat.Lock != lockUsedUp || !needed(s, *seat) {
			continue
		}
		m.Names = append(m.Names, seat.Name)
		mark.WriteString(seat.Name + " " + seat.Until.UTC().Format(time.RFC3339Nano) + " ")
		if m.Until.IsZero() || seat.Until.Before(m.Until) {
			m.Until = seat.Until
		}
	}
	m.Mark = mark.String()
	return m, len(m.Names) > 0
}

// needed reports whether the team would miss a member that is locked out: the
// lead, whoever owns or could take something that is open, and in a team without
// tasks everybody.
func needed(s scene, seat seatView) bool {
	if seat.Lead || len(s.Tasks) == 0 {
		return true
	}
	return s.hasWork(seat)
}

// fromOperator reports whether a person sent m.
func fromOperator(m mail.Message) bool { return m.Kind == mail.OperatorMessage }

// causeOf says why a turn begins that is made of this mail: what a person
// sent comes first, then a task, then a message.
func causeOf(letters []mail.Message) agent.Cause {
	cause := agent.ByTask
	for _, m := range letters {
		switch m.Kind {
		case mail.Goal:
			return agent.ByGoal
		case mail.OperatorMessage:
			return agent.ByPerson
		case mail.HookMessage:
			if cause == agent.ByTask {
				cause = agent.ByHook
			}
		case mail.TaskAssignment, mail.TaskLost:
		default:
			cause = agent.ByMessage
		}
	}
	return cause
}
