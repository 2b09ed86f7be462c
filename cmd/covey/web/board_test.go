package web

import (
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// testBoard returns a board whose team a test changes with Feed.Change.
func testBoard() (*board, *termview.Feed) {
	f := termview.NewFeed(state.Place{})
	return newBoard(f, newTemplates(""), "token"), f
}

var (
	partials = regexp.MustCompile(`(?s)<hx-partial hx-target="#([^"]+)" hx-swap="outerMorph">(.*?)</hx-partial>`)
	articles = regexp.MustCompile(`(?s)<article id="([^"]+)".*?</article>`)
)

// viewer is a page in a browser: the rows of each section, by their ids.
type viewer struct {
	seen uint64
	rows map[string]map[string]string
}

// take puts what has changed in place, as htmx does.
func (v *viewer) take(t *rapid.T, html string) {
	for _, p := range partials.FindAllStringSubmatch(html, -1) {
		if strings.HasPrefix(strings.TrimSpace(p[2]), "<section") {
			v.rows[p[1]] = map[string]string{}
			for _, a := range articles.FindAllStringSubmatch(p[2], -1) {
				v.rows[p[1]][a[1]] = a[0]
			}
			continue
		}
		found := false
		for _, rows := range v.rows {
			if _, ok := rows[p[1]]; ok {
				rows[p[1]], found = articles.FindString(p[2]), true
			}
		}
		if !found && articles.MatchString(p[2]) {
			t.Fatalf("there is no row %s to replace", p[1])
		}
	}
}

// However the team changes and however seldom a viewer looks, it has in the end what a page that
// is loaded anew has.
func TestBoardSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, f := testBoard()
		viewers := []*viewer{{rows: map[string]map[string]string{}}, {rows: map[string]map[string]string{}}}
		look := func(v *viewer) {
			html, version, _, err := b.since(v.seen)
			if err != nil {
				t.Fatal(err)
			}
			v.take(t, html)
			v.seen = version
		}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			f.Change(func(s *view.State) { change(t, s) })
			if who := rapid.IntRange(0, 2).Draw(t, "who looks"); who < 2 {
				look(viewers[who])
			}
		}
		sections, _, err := b.all()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range viewers {
			look(v)
			for _, s := range sections {
				for _, r := range s.Rows {
					if want := articles.FindString(string(r.HTML)); want != "" && v.rows[s.ID][r.ID] != want {
						t.Fatalf("%s of %s is\n%s\nand not\n%s", r.ID, s.ID, v.rows[s.ID][r.ID], want)
					}
				}
				if articles.MatchString(string(s.Rows0())) && len(v.rows[s.ID]) != s.articles() {
					t.Fatalf("%s has %d rows, want %d", s.ID, len(v.rows[s.ID]), s.articles())
				}
			}
		}
	})
}

// Rows0 returns the first row, or nothing.
func (s *section) Rows0() template.HTML {
	if len(s.Rows) == 0 {
		return ""
	}
	return s.Rows[len(s.Rows)-1].HTML
}

// articles counts the rows that are articles.
func (s *section) articles() (n int) {
	for _, r := range s.Rows {
		if articles.MatchString(string(r.HTML)) {
			n++
		}
	}
	return n
}

// change changes a team in one way.
func change(t *rapid.T, s *view.State) {
	id := strconv.Itoa(rapid.IntRange(1, 4).Draw(t, "id"))
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0:
		s.Members = append(s.Members, &view.Member{Name: "m" + strconv.Itoa(len(s.Members)), State: "idle"})
	case 1:
		if len(s.Members) > 0 {
			s.Members[0].Doing = rapid.StringN(0, 9, -1).Draw(t, "doing")
		}
	case 2:
		if i := slices.IndexFunc(s.Tasks, func(t *view.Task) bool { return t.ID == id }); i >= 0 {
			s.Tasks[i].Deleted = !s.Tasks[i].Deleted
			return
		}
		s.Tasks = append(s.Tasks, &view.Task{Task: tasks.Task{ID: id, Subject: "task " + id, Status: tasks.Pending}})
	case 3:
		for _, one := range s.Tasks {
			one.Status = tasks.Completed
		}
	}
}

func TestSeenVersion(t *testing.T) {
	for id, want := range map[string]uint64{
		"abc-7": 7, "abd-7": 0, "abc-": 0, "abc--1": 0, "abc-18446744073709551616": 0, "": 0, "7": 0,
	} {
		if got := seenVersion("abc", id); got != want {
			t.Errorf("%q is version %d, want %d", id, got, want)
		}
	}
}

// What a board keeps from its last drawing is what it would draw: after each line of a day it has
// what a board has that is drawn anew.
func TestBoardKeepsWhatIsTrue(t *testing.T) {
	b, f := testBoard()
	for _, l := range teamtest.BusyDay(400, 5) {
		f.Change(func(s *view.State) { s.Apply(l.Event()) })
		kept, _, err := b.all()
		if err != nil {
			t.Fatal(err)
		}
		fresh, _, err := newBoard(f, newTemplates(""), "token").all()
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range fresh {
			if got := kept[i]; got.Title != s.Title || got.Head != s.Head || !slices.Equal(got.Section.Rows, s.Section.Rows) {
				t.Fatalf("after %s %s is\n%v\nand not\n%v", l.Type, s.ID, got.Section.Rows, s.Section.Rows)
			}
		}
	}
}
