package board

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// TestSceneOfTrouble: what keeps the board from knowing the team is said in place of its state.
func TestSceneOfTrouble(t *testing.T) {
	other := fmt.Errorf("team crew: %w", api.ErrOtherVersion)
	for name, test := range map[string]struct {
		now   termview.Now
		word  string
		style term.Style
		runs  bool
	}{
		"not asked yet": {termview.Now{}, "…", term.Faint, false},
		"runs":          {termview.Now{Status: &api.Status{}}, "idle", term.Faint, true},
		"stopped":       {termview.Now{Absent: api.ErrNotRunning}, "has never run", term.Faint, false},
		"another version": {termview.Now{Absent: other}, "team crew: run by another version of covey",
			term.Red, false},
		"a newer journal": {termview.Now{Absent: other, Trouble: errors.New("update\x1b covey")}, `the journal cannot be read: update\x1b covey`, term.Red, false},
		"reads": {termview.Now{Status: &api.Status{}, Until: 50}, "reading the journal, 0 %",
			term.Faint, true},
	} {
		test.now.State = &view.State{}
		if sc := sceneOf(test.now, false); sc.word != test.word || sc.style != test.style || sc.runs != test.runs {
			t.Errorf("%s: %q in %q, runs %v", name, sc.word, sc.style, sc.runs)
		}
	}
}

// TestFacts: the numbers of a team, and what it has used of its budget as far as it has one.
func TestFacts(t *testing.T) {
	var s view.State
	for i, l := range append(played(), teamtest.Line(20, "api", "turn_ended", `{"reason":"completed","cost_usd":1.25,"usage":{"input_tokens":9}}`)) {
		l.Seq = uint64(i + 1)
		s.Apply(l.Event())
	}
	used := []events.BudgetUse{{What: events.USD, Used: 1.25, Limit: 5}, {What: events.Time, Used: 3}}
	for want, now := range map[string]termview.Now{
		"done 1 of 4 · merged 0 of 1 · $1.25 · 1 refused": {State: &s},
		"done 1 of 4 · merged 0 of 1 · $1.25 · 1 refused · 25 % of the budget (usd)": {State: &s,
			Status: &api.Status{Budget: used}},
		"": {State: &view.State{}},
	} {
		if got := factsOf(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMemberRow: what a member is at, what it costs and what waits for it, on one line; the rest
// is there to read.
func TestMemberRow(t *testing.T) {
	var s view.State
	lines := append(played(),
		teamtest.Line(20, "api", "member_held", `{"by":"operator"}`),
		teamtest.Line(21, "lead", "message", `{"id":"m1","from":"lead","to":"api","text":"hurry"}`),
		teamtest.Line(22, "api", "worktree", `{"op":"created","branch":"covey/crew/api","path":"/x"}`),
		teamtest.Line(23, "", "budget", `{"member":"api","what":"tokens","used":500,"limit":1000,"level":50}`))
	for i, l := range lines {
		l.Seq = uint64(i + 1)
		s.Apply(l.Event())
	}
	r := memberRows(termview.Now{State: &s}, true)[2]
	if want := "task 1 · 1 refused · 1 unread · held after this turn · asks to use Bash: git push origin main"; r.text != want || !r.held {
		t.Errorf("%q, held %v; want %q", r.text, r.held, want)
	}
	want := "held by operator\nbuiltin/anthropic · turn 2, pass 0 · branch covey/crew/api · 500 of 1000 tokens (50 %)"
	if r.about != want {
		t.Errorf("%q, want %q", r.about, want)
	}
}

// TestTaskRow: why a task did not pass, and what became of its work, is there to read.
func TestTaskRow(t *testing.T) {
	var s view.State
	lines := append(played(),
		task(30, "refused", "1", "in_progress", "api", ""),
		teamtest.Line(31, "", "merge", `{"id":"1","member":"lead","tasks":["3"],"title":"Cover it with tests","state":"held","reason":"conflict in a.go","into":"main"}`))
	for i, l := range lines {
		l.Seq = uint64(i + 1)
		s.Apply(l.Event())
	}
	r := taskRows(&s)[2]
	if want := "Cover it with tests\ntask 3 (Cover it with tests): held: conflict in a.go"; r.about != want || !r.merges || !r.returns {
		t.Errorf("%q, merges %v, returns %v; want %q", r.about, r.merges, r.returns, want)
	}
	if needs := needRows(&s, true); needs[2].word != "held merge" || needs[2].task != "3" ||
		!needs[2].merges {
		t.Errorf("%+v", needs[2])
	}
}

// TestNodeOfMember: the board shows on which node a member works.
func TestNodeOfMember(t *testing.T) {
	var s view.State
	for i, l := range append(played(), teamtest.Line(20, "api", "member_placed", `{"node":"big"}`)) {
		l.Seq = uint64(i + 1)
		s.Apply(l.Event())
	}
	for _, name := range []string{"api", "lead"} {
		if about := memberAbout(s.Member(name)); strings.Contains(about, "on node big") != (name == "api") {
			t.Errorf("%s: %q", name, about)
		}
	}
}
