package view

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
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
	news    []Entry
	notice  string // a notice of the program itself, such as that it stops
	drafts  []lives.Draft
}

// newBoard returns a board of a team. The names come from the spec and serve until
// the first line of the journal arrives.
func newBoard(team string, members []string, started time.Time) *board {
	return &board{team: team, names: members, started: started}
}

// apply handles the next event of the journal.
func (b *board) apply(event events.Event) {
	b.state.Apply(event)
	if e, ok := brief(event); ok {
		b.addNews(e)
	}
}

// addNews adds an entry to the news and drops the oldest.
func (b *board) addNews(e Entry) {
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

// what says what a member writes or does, or what it waits for.
func (b *board) what(m *view.Member, graph []tasks.Outline) string {
	return cmp.Or(b.writing(m), MemberDoes(&b.state, m, graph))
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

// TaskNumber returns a task id as a number, for ordering. Ids that are not numbers
// come last, in undefined order.
func TaskNumber(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return 1 << 30
	}
	return n
}
