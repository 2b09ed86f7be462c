package view

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// maxNews is how many noteworthy entries a board keeps: more than fits on any screen,
// for a screen that is enlarged.
const maxNews = 200

// board is what the live view shows of a team: the State that the lines of the journal
// give, and the news among them. It can draw itself in any size. It is a plain value
// without locks and clocks, for tests by table: the caller locks it and passes the time.
type board struct {
	team    string
	names   []string  // of the members, until the journal names them
	started time.Time // when the view began, until the journal says when the run did
	state   view.State
	news    []entry
	notice  string // a notice of the program itself, such as that it stops
	drafts  []lives.Draft
}

// atGates is how a member is called while a gate judges its turn.
const atGates = "at the gates"

// newBoard returns a board of a team. The names come from the spec and serve until
// the first line of the journal arrives.
func newBoard(team string, members []string, started time.Time) *board {
	return &board{team: team, names: members, started: started}
}

// apply handles the next line of the journal.
func (b *board) apply(l journal.Line) {
	b.state.Apply(l)
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

// members returns the members to show: those of the team, and those that have left it and
// are not gone yet.
func (b *board) members() []*view.Member {
	var list []*view.Member
	for _, m := range b.state.Members {
		if !m.Left || m.State != api.Ended {
			list = append(list, m)
		}
	}
	if list == nil {
		for _, name := range b.names {
			list = append(list, &view.Member{Name: name, State: api.Starting})
		}
	}
	return list
}

// label returns a member's state as it is shown.
func label(m *view.Member) string {
	switch {
	case m.Gate != "":
		return atGates
	case m.State == api.Limited:
		return string(m.State) + " until " + notation.ShortTime(m.Lockout.Until.Local(), m.Lockout.Since.Local())
	}
	return string(m.State)
}

// what says what a member does or writes, or what it waits for. For an idle member that owns a
// task, the blocker of the task is more useful than the member's last text. It names
// only the first task and its first blocker; covey tasks graph shows all.
func (b *board) what(m *view.Member, graph []tasks.Outline) string {
	if text := b.writing(m); text != "" {
		return text
	}
	text := m.Doing
	switch {
	case m.State == api.NeedsAttention:
		text = m.Attention
	case m.State == api.LoggedOut:
		text = m.Attention
		if text == "" && m.Lockout != nil {
			text = m.Lockout.Text
		}
	case m.State == api.Limited:
		text = m.Lockout.Text
	case m.State == api.Waiting && m.Lockout != nil:
		text = "to try again at " + m.Lockout.Until.Local().Format(time.TimeOnly) + ", after: " + m.Lockout.Text
	case m.State == api.Waiting:
		text = "for " + m.WaitsFor
	case m.State == api.Working && m.WaitsFor != "":
		text = "waits for " + m.WaitsFor
	case m.State == api.Resting, m.State == api.Held:
		text = cmp.Or(b.waitsForTask(m.Name, graph), m.Doing)
	}
	return term.Short(text)
}

// writing describes what a member writes; empty: nothing. At the gates its text is about to be
// whole.
func (b *board) writing(m *view.Member) string {
	i := slices.IndexFunc(b.drafts, func(d lives.Draft) bool { return d.Member == m.Name && d.Helper == "" })
	if i < 0 || m.State != api.Working || m.Gate != "" {
		return ""
	}
	return writes(b.drafts[i])
}

// waitsForTask names the task that a member's first waiting task waits for; empty: none. A
// pending task that waits for nothing is about to be started and would only flicker.
func (b *board) waitsForTask(member string, graph []tasks.Outline) string {
	for i := range graph {
		t := &graph[i]
		if t.Owner != member || t.Status != tasks.Pending {
			continue
		}
		if open := t.OpenBlockers(graph); len(open) > 0 {
			text := "waits for task " + open[0]
			if owner := b.state.Task(open[0]).Owner; owner != "" {
				text += " of " + owner
			}
			return text
		}
	}
	return ""
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
