//go:build unix

package ask

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// hostile is what a member may put into a title: it clears the screen, sets the
// window's title, begins a line of its own and turns the reading direction around.
const hostile = "evil\x1b[2J\x1b]0;t\x07\nmerged \u202eby you"

// printed is what a print function says to a pipe.
func printed(print func(*cli.Env)) string {
	s, buf := teamtest.Screen()
	print(&cli.Env{Out: s, Err: s})
	return buf.String()
}

// onTerminal is what it says to a terminal of that many columns, without colours.
func onTerminal(t *testing.T, width int, print func(*cli.Env)) string {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skip("no terminal to be had:", err)
	}
	defer ptmx.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(width), Rows: 50}); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	// What is written goes into buf, and the size comes from the terminal.
	print(&cli.Env{Out: &term.Screen{Writer: &buf, File: tty}})
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// harmlessOutput fails the test if output could do more to a terminal than be read.
func harmlessOutput(t *testing.T, what, out string) {
	t.Helper()
	if strings.ContainsAny(out, "\x1b\x07\u202e\r") {
		t.Errorf("%s lets characters through that act on a terminal: %q", what, out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "merged") {
			t.Errorf("%s lets a title begin a line of its own: %q", what, out)
		}
	}
}

// noon is when the tables of this file are looked at.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// TestPrintedReview: each line is there if there is something to say, and only then.
func TestPrintedReview(t *testing.T) {
	bare := api.Review{Merge: tasks.Merge{
		Branch: "covey/crew/ana", Title: "work of ana", Member: "ana", Into: "main", State: tasks.MergeWaiting,
	}}
	full := api.Review{
		Merge: tasks.Merge{
			Tasks: []string{"3"}, Title: "Add it", Branch: "covey/crew/task-3", Member: "ben", Into: "main",
			State: tasks.MergeReturned, Fix: "7", Reason: "it conflicts with main",
		},
		Changes: []string{"a.go", "b.go"}, Conflicts: []string{"a.go"},
		Hints:    []hints.Hint{{Mark: true, Word: "protected", Text: "These files are protected.", Places: []hints.Place{{File: "policy/x"}}}},
		Evidence: []string{"go test: ok"},
		Verdicts: []requests.Verdict{
			{VerdictKey: requests.VerdictKey{Tree: "0123456789abcdef"}, Command: "make check",
				Moment: "merge",
				Pass:   true, Duration: 61 * time.Second, Feedback: "not shown"},
			{VerdictKey: requests.VerdictKey{Tree: "ab"}, Command: "lint", Moment: "task",
				Feedback: "two\nlines\n"},
			{VerdictKey: requests.VerdictKey{Tree: "ab"}, Command: "lint", Moment: "task",
				Feedback: "no", Log: "the log"},
		},
		Push: []string{"git", "push"}, Open: []string{"gh", "--title", "a b"},
	}
	for _, tc := range []struct {
		review api.Review
		want   string
	}{
		{bare, "work of ana\nby         ana\nbranch     covey/crew/ana for main\nstate      to merge\n"},
		{full, `task 3 (Add it)
by         ben
branch     covey/crew/task-3 for main
state      sent back, and goes on as task 7: it conflicts with main
changes    a.go, b.go
look at    ⚠ protected: These files are protected. (policy/x)
conflicts  a.go
evidence   go test: ok
gate       agrees make check (tree 0123456789, merge, 1m01s)
gate       refuses lint (tree ab, task, 0s)
    two
    lines
gate       refuses lint (tree ab, task, 0s)
    the log
open it    git push && gh --title 'a b'
`},
	} {
		if got := printed(func(c *cli.Env) { printReview(c.Out, tc.review) }); got != tc.want {
			t.Errorf("printed\n%s\nwant\n%s", got, tc.want)
		}
	}
}

// TestPrintedIsHarmless: what agents have written comes out as text wherever it goes.
func TestPrintedIsHarmless(t *testing.T) {
	m := tasks.Merge{
		ID: "1", Tasks: []string{"3"}, Title: hostile, Branch: "b" + hostile, Member: hostile, Into: hostile,
		State: tasks.MergeReady, Reason: hostile, Files: []string{hostile},
	}
	review := api.Review{
		Merge: m, Changes: m.Files, Conflicts: m.Files, Hints: []hints.Hint{{Word: m.Files[0], Text: m.Files[0], Places: []hints.Place{{File: m.Files[0], Text: m.Files[0]}}}}, Evidence: m.Files,
		Verdicts: []requests.Verdict{{Command: hostile, Moment: hostile, Feedback: hostile}},
		Push:     []string{"git", hostile}, Open: []string{"gh", hostile},
	}
	request := requests.Request{
		ID: "01", Kind: requests.AskPlan, Member: hostile, To: hostile, Text: hostile, State: requests.Denied,
		By: hostile, Feedback: hostile,
	}
	member := api.MemberStatus{
		Name: hostile, Agent: hostile, Doing: hostile, Task: "3", Subject: hostile, WaitsFor: hostile,
		Attention: hostile, Worktree: &workcopies.Status{Path: hostile, Branch: hostile},
	}
	status := api.Status{
		Team: hostile, Workspace: hostile, Members: []api.MemberStatus{member},
		Result:    &state.RunResult{Reason: hostile},
		Schedules: []api.ScheduleStatus{{Name: hostile, Cron: hostile, What: hostile}},
	}
	for what, print := range map[string]func(*cli.Env){
		"review":   func(c *cli.Env) { printReview(c.Out, review) },
		"unmerged": func(c *cli.Env) { PrintUnmerged(c.Out, []string{hostile}) },
		"merge": func(c *cli.Env) {
			_ = printMerged(c.Out, state.Place{}, api.MergeReply{Merges: []tasks.Merge{m}}, false)
		},
		"diff": func(c *cli.Env) { printDiffs(c.Out, []merging.Diff{{Title: hostile}}, false) },
		"inbox": func(c *cli.Env) {
			printInbox(c.Out, []requests.Request{request},
				[]api.Need{{Kind: api.NeedsMerge, Member: hostile, Text: hostile}}, noon)
		},
		"ps":   func(c *cli.Env) { printStatus(c.Out, status, noon) },
		"json": func(c *cli.Env) { _ = c.Out.JSON(review) },
	} {
		harmlessOutput(t, what, printed(print))
		harmlessOutput(t, what+" on a terminal", onTerminal(t, 60, print))
	}
}

// TestPrintedJSON: JSON says the same as what it was made of, whatever is in it.
func TestPrintedJSON(t *testing.T) {
	reply := api.MergeReply{Merges: []tasks.Merge{
		{ID: "1", Title: hostile, State: tasks.MergeHeld}, {ID: "2", State: tasks.MergeDone},
	}}
	var failed error
	out := printed(func(c *cli.Env) { failed = printMerged(c.Out, state.Place{}, reply, true) })
	var got api.MergeReply
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Merges) != 2 ||
		got.Merges[0].Title != hostile {
		t.Errorf("%+v, %v from %s", got, err, out)
	}
	if failed == nil || failed.Error() != "1 of 2 not merged; covey review shows more" {
		t.Errorf("one is held: %v", failed)
	}
}

// TestPrintedMergeFails: a script learns from the exit code whether what it asked for
// is in the branch, or is on its way without it.
func TestPrintedMergeFails(t *testing.T) {
	for merge, want := range map[tasks.MergeState]bool{
		tasks.MergeDone: false, tasks.MergeDropped: false, tasks.MergeReady: false, tasks.MergeQueued: false,
		tasks.MergeTesting: false, tasks.MergeLanding: false,
		tasks.MergeHeld: true, tasks.MergeReturned: true, tasks.MergeWaiting: true,
	} {
		reply := api.MergeReply{Merges: []tasks.Merge{{Branch: "b", State: merge}}}
		c := &cli.Env{Out: &term.Screen{Writer: io.Discard}}
		if err := printMerged(c.Out, state.Place{}, reply, false); (err != nil) != want {
			t.Errorf("%s: error %v, want one: %v", merge, err, want)
		}
	}
}

// TestPrintedInbox: the table, and how to answer if there is something for a person.
func TestPrintedInbox(t *testing.T) {
	mine := requests.Request{ID: "r7", Kind: requests.AskPermission, Member: "ana", To: actors.Operator,
		Text: "may I?\nmore", State: requests.Open, Deadline: noon.Add(90 * time.Second)}
	leads := requests.Request{ID: "r12", Kind: requests.AskPlan, Member: "ben", To: "lead", Text: "the plan",
		State: requests.Open, Deadline: noon.Add(-time.Hour)}
	over := mine
	over.ID, over.State, over.By, over.Feedback = "r1", requests.Denied, "lead", "not so"
	clock := mine.Deadline.Local().Format("15:04")
	const hint = "covey inbox approve ID, or deny ID --feedback TEXT, answers; show ID shows all"
	for _, tc := range []struct {
		list       []requests.Request
		want, lack string
	}{
		{nil, "nothing waits for you\n", "ID"},
		{[]requests.Request{mine}, hint, "more"},
		{[]requests.Request{mine}, "r7  permission  ana   you  denied " + clock + "  may I?\n", "r12"},
		{[]requests.Request{leads}, "lead  denied ", hint},
		{[]requests.Request{over}, "you  denied      may I?\n", hint},
	} {
		got := printed(func(c *cli.Env) { printInbox(c.Out, tc.list, nil, noon) })
		if !strings.Contains(got, tc.want) || strings.Contains(got, tc.lack) {
			t.Errorf("printed\n%s\nwant %q and not %q", got, tc.want, tc.lack)
		}
	}
	work := []api.Need{
		{Kind: api.NeedsMerge, ID: "1", Member: "ana", Task: "3", Text: "task 3 (Add it) waits to be merged into main", Marks: []string{"keeps state"}},
		{Kind: api.NeedsDecision, ID: "2", Member: "ben", Text: "a conflict"},
	}
	got := printed(func(c *cli.Env) { printInbox(c.Out, nil, work, noon) })
	want := `WORK        FROM  MERGES IT        WHAT
to merge    ana   covey merge 3    Add it · ⚠ keeps state
held merge  ben   covey merge ben  a conflict
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	for want, r := range map[string]requests.Request{
		"denied if unanswered at " + clock + "\n": mine,
		"denied by lead (not so)\n":               over,
	} {
		if got := printed(func(c *cli.Env) { printRequest(c.Out, r, noon) }); !strings.Contains(got, want) {
			t.Errorf("printed\n%s\nwant %q", got, want)
		}
	}
}

// TestPrintedInboxFits: on 80 columns each request has one line, which says what it is
// about and can be answered by what stands there.
func TestPrintedInboxFits(t *testing.T) {
	long := requests.Request{ID: "r1234", Kind: requests.AskPermission, Member: "documentation",
		To: actors.Operator, State: requests.Open,
		Text: "documentation asks to use Bash: " + strings.Repeat("go test ./... ",
			20), Deadline: noon.Add(599 * time.Second)}
	out := onTerminal(t, 80, func(c *cli.Env) { printInbox(c.Out, []requests.Request{long}, nil, noon) })
	for line := range strings.Lines(out) {
		if got := ansi.StringWidth(strings.TrimRight(line, "\r\n")); got > 80 {
			t.Errorf("%d columns: %s", got, line)
		}
	}
	if plain := ansi.Strip(out); !strings.Contains(plain,
		"r1234  permission  documentation  you  denied "+long.Deadline.Local().Format("15:04")+"  asks to use Bash: go test") {
		t.Errorf("printed\n%s", plain)
	}
}

// TestPrintedStatusFits: on a terminal no row of the table is wider than it, however
// long names are, as long as the columns have room at all.
func TestPrintedStatusFits(t *testing.T) {
	members := []api.MemberStatus{
		{Name: strings.Repeat("n", 80), Agent: "builtin/script", State: api.Working, Turn: 3, Pass: 1,
			Task: "12", Subject: strings.Repeat("世界", 30), Doing: strings.Repeat("tool ", 30)},
		{Name: "ben", State: api.Limited, LimitedUntil: noon},
	}
	print := func(c *cli.Env) { memberTable(members, noon).Print(c.Out) }
	for _, width := range []int{80, 100, 140} {
		for line := range strings.Lines(onTerminal(t, width, print)) {
			if got := ansi.StringWidth(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("%d columns on a terminal of %d: %s", got, width, line)
			}
		}
	}
	if out := printed(print); !strings.Contains(out, strings.Repeat("n", 80)) || strings.Contains(out, "…") {
		t.Errorf("a pipe gets all of it: %s", out)
	}
}

// TestPrintedStatusLine: the line says which of its four ends or ways a run has taken.
func TestPrintedStatusLine(t *testing.T) {
	base := api.Status{Team: "crew", Workspace: "/w"}
	change := func(f func(*api.Status)) api.Status { s := base; f(&s); return s }
	for want, s := range map[string]api.Status{
		"crew in /w · not running; the last run was cut off, covey up continues it": base,
		"crew in /w · starting (process 7) · done 1 of 3": change(func(s *api.Status) {
			s.PID, s.Tasks = 7, api.TaskCounts{Pending: 2, Completed: 1}
		}),
		"crew in /w · running for 1h05m (process 7)": change(func(s *api.Status) {
			s.PID, s.Up, s.Started = 7, true, noon.Add(-65*time.Minute)
		}),
		"crew in /w · not running\nlast run: done (code 0, 10s ago)": change(func(s *api.Status) {
			s.Result = &state.RunResult{Reason: "done", Ended: noon.Add(-10 * time.Second)}
		}),
	} {
		if got := statusLine(s, noon); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPrintedTeams: the row of a team says how it is, and what can be done.
func TestPrintedTeams(t *testing.T) {
	refused := &state.RunResult{Reason: "refused", ExitCode: 3}
	for want, info := range map[string]cli.TeamInfo{
		"crew|running|7||":              {Team: "crew", State: cli.TeamRunning, PID: 7},
		"crew|ended|||refused (code 3)": {Team: "crew", State: cli.TeamEnded, Result: refused},
		"crew|cut off|||its process is gone": {Team: "crew", State: cli.TeamCutOff,
			Trouble: "its process is gone"},
		"crew|never ran||2026-03-02 12:00|": {Team: "crew", State: cli.TeamNeverRan,
			Started: noon.Add(shiftOf(noon))},
	} {
		var texts []string
		for _, c := range teamCells(info)[:5] {
			texts = append(texts, c.Text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// shiftOf takes the local zone out of a time, so that tests read the same everywhere.
func shiftOf(at time.Time) time.Duration {
	_, seconds := at.In(time.Local).Zone()
	return -time.Duration(seconds) * time.Second
}
