package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// maxNews is how many noteworthy entries a board keeps. More than fits on any
// screen, so that one that is enlarged has something to show.
const maxNews = 200

// board is what the live view knows of a team. It learns everything from the
// lines of the journal, in their order, and draws itself into any size. It is a
// plain value without locks and clocks: who shares it locks it, and who draws
// it says what time it is. That makes it a thing of tables in tests.
type board struct {
	team    string
	started time.Time // when this run began
	ended   string    // why it ended; empty: it runs
	waits   string    // until when nobody can do anything; empty: somebody can
	members []*seat   // the lead first, then as they appeared
	tasks   map[string]taskNews
	refused int // refusals by gates in this run
	news    []entry
	notice  string // what the program itself has to say, such as that it stops
}

// seat is what a board knows of one member. All its texts are plain already.
type seat struct {
	name    string
	state   string // one of the constants below
	until   string // limited: when it goes on
	doing   string
	turn    int
	refused int
	isHeld  bool // it begins no turn until it is resumed
}

// The states of a seat.
const (
	starting  = "starting"
	working   = "working"
	atGates   = "at the gates"
	idle      = "idle"
	waiting   = "waiting"
	limited   = "limited"
	loggedOut = "logged out"
	attention = "needs attention"
	held      = "held"
	ended     = "ended"
)

// newBoard returns a board of a team whose members are known by name. The names
// come from the spec and serve until the first line is there; the team's own
// start names them again, those of an earlier run included.
func newBoard(team string, members []string, started time.Time) *board {
	b := &board{team: team, started: started, tasks: map[string]taskNews{}}
	for _, name := range members {
		b.seat(name)
	}
	return b
}

// seat is the seat of a member, made if there is none yet. Names are compared
// in their plain form, as they are shown: two names that look the same must not
// become two rows.
func (b *board) seat(name string) *seat {
	if s := b.seatOf(name); s != nil {
		return s
	}
	s := &seat{name: term.PlainLine(name), state: starting}
	b.members = append(b.members, s)
	return s
}

// seatOf is the seat of a member; nil for whoever is none, such as a person who
// sends a message.
func (b *board) seatOf(name string) *seat {
	for _, s := range b.members {
		if s.name == term.PlainLine(name) {
			return s
		}
	}
	return nil
}

// apply takes the next line of the journal in. Lines of types that it does not
// know change nothing, so that an older covey can look at the journal of a
// newer one.
func (b *board) apply(l journal.Line) {
	p := data(l)
	b.applyTeam(l, p)
	if s := b.seatOf(l.Member); s != nil {
		b.applyMember(s, l, p)
	}
	if e, ok := brief(l); ok {
		b.addNews(e)
	}
}

// addNews shows an entry among the news and forgets the oldest.
func (b *board) addNews(e entry) {
	b.news = append(b.news, e)
	if len(b.news) > maxNews {
		b.news = slices.Delete(b.news, 0, len(b.news)-maxNews)
	}
}

// applyTeam takes in what concerns the team as a whole. A start begins a run:
// refusals, the clock and the members' states are of one run, while tasks stay
// over all of them.
func (b *board) applyTeam(l journal.Line, p payload) {
	switch l.Type {
	case "team_started":
		b.refused, b.ended, b.waits, b.started = 0, "", "", l.Time
		for _, s := range b.members {
			*s = seat{name: s.name, state: starting, isHeld: s.isHeld}
		}
		for _, name := range p.Members {
			b.seat(name)
		}
	case "team_ended":
		b.ended = p.Reason
	case "team_waits":
		b.waits = notation.ShortTime(p.Until.Local(), l.Time.Local())
	case "turn_started":
		b.waits = ""
	case "task":
		b.applyTask(p)
	}
}

// applyTask keeps the list of tasks. A refused change has left the task as it
// was, whatever the line says of it.
func (b *board) applyTask(p payload) {
	switch {
	case p.Task == nil || p.Op == "refused" || p.Op == "awaits":
	case p.Op == "deleted":
		delete(b.tasks, p.Task.ID)
	default:
		b.tasks[p.Task.ID] = *p.Task
	}
}

// applyMember takes in what one member did. The state follows from the last
// thing that happened; nothing is remembered beyond that, and so a board that
// begins in the middle is soon right.
func (b *board) applyMember(s *seat, l journal.Line, p payload) {
	if l.Helper != "" {
		b.applyHelper(s, l, p)
		return
	}
	switch l.Type {
	case "member_started":
		s.state, s.doing = idle, ""
	case "turn_started":
		s.state, s.turn, s.doing = working, l.Turn, "thinks"
	case "tool_call":
		s.state, s.doing = working, term.Short(callText(p.Name, p.Input))
	case "tool_result":
		s.doing = "thinks"
	case "text":
		s.state, s.doing = working, term.Short(p.Text)
	case "hook_started":
		s.doing = term.Short(p.Event + ": " + cmp.Or(p.Status, p.Command))
		if isGate(p.Event) {
			s.state = atGates
		}
	case "hook_feedback":
		s.state, s.doing = working, term.Short("refused by "+p.Event)
		s.refused++
		b.refused++
	case "turn_ended":
		if !isLockout(p.Reason) && s.state != waiting {
			s.doing = ""
		}
	case "idle":
		if !isLockout(p.Reason) && !(p.Reason == idleFailed && s.state == waiting) {
			s.state, s.doing = idle, term.Short(p.LastText)
		}
	case "needs_attention":
		s.doing = term.Short(p.Reason)
		if p.Kind != "login" {
			s.state = attention
		}
	case "limited":
		s.state, s.doing = limited, term.Short(p.Text)
		s.until = notation.ShortTime(p.Until.Local(), l.Time.Local())
	case "turn_failed":
		if !p.Until.IsZero() {
			s.state = waiting
			s.doing = term.Short("to try again at " + p.Until.Local().Format(time.TimeOnly) + ", after: " + p.Text)
		}
	case "logged_out":
		s.state, s.doing = loggedOut, term.Short(p.Hint)
	case "held_up":
		s.doing = term.Short("waits for " + p.For)
	case "waiting":
		s.state, s.doing = waiting, term.Short("for "+p.For)
	case "member_held", "member_resumed":
		s.isHeld = l.Type == "member_held"
	case "member_ended":
		s.state, s.doing = ended, term.Short(p.Reason)
	}
}

// isGate tells whether an event belongs to the turn end. While one of these
// runs, the member has done its work and waits for a verdict, which is worth
// telling apart from work. SubagentStop is a helper's affair.
func isGate(event string) bool {
	return event == "Stop" || event == "TaskCompleted" || event == "TeammateIdle"
}

// counts are the tasks that are done, and all of them. Deleted tasks are in
// neither number.
func (b *board) counts() (done, all int) {
	for _, t := range b.tasks {
		if t.Status == "completed" {
			done++
		}
	}
	return done, len(b.tasks)
}

// tasksOf are the tasks in progress of a member, and those that wait for
// others, in order of their ids. A pending task that waits for nobody is in
// neither list: it is about to be taken up, and would only flicker.
func (b *board) tasksOf(name string) (own, waiting []taskNews) {
	for _, t := range b.tasks {
		switch {
		case t.Owner != name || t.Status == "completed":
		case t.Status == "in_progress":
			own = append(own, t)
		case len(b.openBlockers(t)) > 0:
			waiting = append(waiting, t)
		}
	}
	byID := func(x, y taskNews) int { return TaskNumber(x.ID) - TaskNumber(y.ID) }
	slices.SortFunc(own, byID)
	slices.SortFunc(waiting, byID)
	return own, waiting
}

// openBlockers are the tasks that t waits for. A blocker that was deleted
// blocks nobody any more.
func (b *board) openBlockers(t taskNews) []taskNews {
	var open []taskNews
	for _, id := range t.BlockedBy {
		if blocker, ok := b.tasks[id]; ok && blocker.Status != "completed" {
			open = append(open, blocker)
		}
	}
	return open
}

// label is a member's state as it is shown.
func (s *seat) label() string {
	switch {
	case s.state == limited:
		return limited + " until " + s.until
	case s.state == idle && s.isHeld:
		return held
	}
	return s.state
}

// what says what a member does, or what it waits for. Of an idle member that
// owns a task it is more useful to know what holds the task up than what the
// member said last. Only the first task and its first blocker are named: the
// line has no room for more, and covey tasks graph shows all.
func (b *board) what(s *seat) string {
	if s.state != idle {
		return s.doing
	}
	_, waiting := b.tasksOf(s.name)
	if len(waiting) == 0 {
		return s.doing
	}
	blocker := b.openBlockers(waiting[0])[0]
	text := fmt.Sprintf("waits for task %s", blocker.ID)
	if blocker.Owner != "" {
		text += " of " + blocker.Owner
	}
	return term.Short(text)
}

// TaskNumber is a task id as a number, for ordering. Ids that are no numbers come
// last, in no order of their own.
func TaskNumber(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return 1 << 30
	}
	return n
}
