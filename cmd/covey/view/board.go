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
	"github.com/coveyteam/covey/orchestrator/lives"
)

// maxNews is how many noteworthy entries a board keeps: more than fits on any screen,
// for a screen that is enlarged.
const maxNews = 200

// board is the state that the live view shows of a team. It learns everything from
// the lines of the journal, in their order, and can draw itself in any size. It is a
// plain value without locks and clocks, for tests by table: the caller locks it and
// passes the time.
type board struct {
	team    string
	started time.Time    // when this run began
	ended   string       // why the team ended; empty: it runs
	waits   string       // until when all members have to wait; empty: they need not
	members []*memberRow // the lead first, then in order of appearance
	tasks   map[string]taskInfo
	refused int // refusals by hooks and gates in this run
	news    []entry
	notice  string // a notice of the program itself, such as that it stops
	drafts  []lives.Draft
}

// memberRow is the state of one member. All its texts are plain.
type memberRow struct {
	name    string
	state   string // one of the constants below
	until   string // when the limit ends, if state is limited
	doing   string
	turn    int
	refused int
	isHeld  bool // it starts no turn until it is resumed
}

// The states of a member.
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

// newBoard returns a board of a team. The names come from the spec and serve until
// the first line of the journal arrives; the start of the team names the members
// again, including those of an earlier run.
func newBoard(team string, members []string, started time.Time) *board {
	b := &board{team: team, started: started, tasks: map[string]taskInfo{}}
	for _, name := range members {
		b.row(name)
	}
	return b
}

// row returns the row of a member, and adds it if there is none. Names are compared
// in their plain form, as shown: names that look the same must not become two rows.
func (b *board) row(name string) *memberRow {
	if s := b.rowOf(name); s != nil {
		return s
	}
	s := &memberRow{name: term.PlainLine(name), state: starting}
	b.members = append(b.members, s)
	return s
}

// rowOf returns the row of a member; nil for others, such as an operator who sends a
// message.
func (b *board) rowOf(name string) *memberRow {
	for _, s := range b.members {
		if s.name == term.PlainLine(name) {
			return s
		}
	}
	return nil
}

// apply handles the next line of the journal. Lines of unknown types change nothing,
// so that an older covey can show the journal of a newer one.
func (b *board) apply(l journal.Line) {
	p := data(l)
	b.applyTeam(l, p)
	if s := b.rowOf(l.Member); s != nil {
		b.applyMember(s, l, p)
	}
	if e, ok := brief(l); ok {
		b.addNews(e)
	}
}

// addNews adds an entry to the news and drops the oldest.
func (b *board) addNews(e entry) {
	b.news = append(b.news, e)
	if len(b.news) > maxNews {
		b.news = slices.Delete(b.news, 0, len(b.news)-maxNews)
	}
}

// applyTeam handles what concerns the whole team. A start begins a run: refusals, the
// clock and the members' states belong to one run, while tasks stay over all runs.
func (b *board) applyTeam(l journal.Line, p payload) {
	switch l.Type {
	case "team_started":
		b.refused, b.ended, b.waits, b.started = 0, "", "", l.Time
		for _, s := range b.members {
			*s = memberRow{name: s.name, state: starting, isHeld: s.isHeld}
		}
		for _, name := range p.Members {
			b.row(name)
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

// applyTask updates the list of tasks. A refused change has not changed the task,
// whatever the line contains.
func (b *board) applyTask(p payload) {
	switch {
	case p.Task == nil || p.Op == "refused" || p.Op == "awaits":
	case p.Op == "deleted":
		delete(b.tasks, p.Task.ID)
	default:
		b.tasks[p.Task.ID] = *p.Task
	}
}

// applyMember handles what one member did. The state follows from the last event
// alone, so a board that begins in the middle is soon right.
func (b *board) applyMember(s *memberRow, l journal.Line, p payload) {
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

// isGate reports whether an event belongs to the turn end. While its hooks run, the
// member has done its work and waits for a verdict. SubagentStop concerns helpers
// only.
func isGate(event string) bool {
	return event == "Stop" || event == "TaskCompleted" || event == "TeammateIdle"
}

// counts returns the number of completed tasks, and of all. Deleted tasks are in
// neither.
func (b *board) counts() (done, all int) {
	for _, t := range b.tasks {
		if t.Status == "completed" {
			done++
		}
	}
	return done, len(b.tasks)
}

// tasksOf returns the tasks that a member has in progress, and those that wait for
// others, ordered by id. A pending task that waits for nothing is in neither list: it
// is about to be started and would only flicker.
func (b *board) tasksOf(name string) (own, waiting []taskInfo) {
	for _, t := range b.tasks {
		switch {
		case t.Owner != name || t.Status == "completed":
		case t.Status == "in_progress":
			own = append(own, t)
		case len(b.openBlockers(t)) > 0:
			waiting = append(waiting, t)
		}
	}
	byID := func(x, y taskInfo) int { return TaskNumber(x.ID) - TaskNumber(y.ID) }
	slices.SortFunc(own, byID)
	slices.SortFunc(waiting, byID)
	return own, waiting
}

// openBlockers returns the tasks that t waits for. A deleted blocker does not count.
func (b *board) openBlockers(t taskInfo) []taskInfo {
	var open []taskInfo
	for _, id := range t.BlockedBy {
		if blocker, ok := b.tasks[id]; ok && blocker.Status != "completed" {
			open = append(open, blocker)
		}
	}
	return open
}

// label returns a member's state as it is shown.
func (s *memberRow) label() string {
	switch {
	case s.state == limited:
		return limited + " until " + s.until
	case s.state == idle && s.isHeld:
		return held
	}
	return s.state
}

// what says what a member does or writes, or what it waits for. For an idle member that owns a
// task, the blocker of the task is more useful than the member's last text. It names
// only the first task and its first blocker; covey tasks graph shows all.
func (b *board) what(s *memberRow) string {
	if text := b.writing(s); text != "" {
		return text
	}
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

// writing describes what a member writes; empty: nothing. At the gates its text is about to be
// whole.
func (b *board) writing(s *memberRow) string {
	i := slices.IndexFunc(b.drafts, func(d lives.Draft) bool { return d.Member == s.name && d.Helper == "" })
	if i < 0 || s.state != working {
		return ""
	}
	return writes(b.drafts[i])
}

// TaskNumber returns a task id as a number, for ordering. Ids that are not numbers
// come last, in undefined order.
func TaskNumber(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return 1 << 30
	}
	return n
}
