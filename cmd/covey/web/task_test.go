package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// hostile is a text that acts on a page or on a terminal if it is not made harmless.
const hostile = "</textarea></td></pre><script>alert(1)</script>\x1b[31m\u202egnp\xff\x00 \" onload=\"x {{.}} ' javascript:x"

// drawn returns the page of a task.
func drawn(t testing.TB, one *taskPage) string {
	t.Helper()
	b, _ := testBoard()
	html, err := b.execute("taskpage", one)
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

// Nothing that a member writes acts on the page, wherever it stands.
func TestHostileTask(t *testing.T) {
	t.Parallel()
	task := tasks.Task{
		ID: "1", Subject: hostile, Description: hostile, Owner: hostile, Author: hostile, Status: tasks.Completed,
		Evidence: []tasks.Evidence{{By: hostile, Text: hostile, File: hostile}},
	}
	merge := &view.Merge{Merge: tasks.Merge{Member: hostile, Into: hostile, Reason: hostile, State: tasks.MergeHeld, Tasks: []string{"1"}, Fix: "2"}}
	w := pages.Work{Task: task, Files: hints.ParseDiff("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@ " + strings.ReplaceAll(hostile, "\n", "") + "\n-" + hostile + "\n+" +
		strings.Repeat(hostile, 10<<20/len(hostile)) + "\n")}
	w.Files[0].Name, w.Files[0].Old, w.Files[0].Modes = hostile, hostile, hostile
	w.Diff = merging.Diff{Title: hostile, Withheld: hostile}
	one := &taskPage{Task: pages.Task{
		Full: task, Review: api.Review{Conflicts: []string{hostile}}, Faults: []string{hostile},
		Form:   "token",
		Stored: []requests.Verdict{{Command: hostile, Log: hostile, Moment: hostile}},
		Rounds: []pages.Round{{Gate: &view.Gate{ID: hostile, Event: hostile, Verdict: view.Refused, Reason: hostile},
			Runs: []pages.HookRun{{HookRun: view.HookRun{Seq: 1, Command: hostile, Outcome: hostile, Observed: hostile, Tree: hostile}, Text: hostile}}}},
		TaskState: pages.TaskState{
			Hints: []hints.Hint{{Word: hostile, Text: hostile, Places: []hints.Place{{File: hostile, Text: hostile}}}},
			Up:    true, Present: true, Author: hostile,
			TaskRow: pages.TaskRow{Word: hostile, Merge: merge, Task: &view.Task{
				Task: task, Owners: []view.Owned{{Owner: hostile, By: hostile, End: hostile}},
				Returns: []view.Return{{Kind: hostile, Member: hostile, By: hostile, Reason: hostile}},
			}},
			Merges: []view.Merge{*merge}, Blocked: []*tasks.Outline{{ID: "3", Subject: hostile}},
		},
	}}
	one.Diff = pages.NewDiffView(w, one.Hints, pages.Bounds{File: fileLines, All: pageLines})
	for _, question := range []*requests.Request{nil, {ID: "r1", Kind: requests.Kind(hostile), Member: hostile, Text: hostile}} {
		one.Question = question
		page := drawn(t, one)
		for _, bad := range []string{"<script", "\x1b", "\u202e", "\x00", `" onload="`, `href="javascript`} {
			if strings.Contains(page, bad) {
				at := strings.Index(page, bad)
				t.Errorf("%q is in the page: %q", bad, page[max(0, at-200):at+20])
			}
		}
		if !utf8.ValidString(page) || len(page) > 200<<10 {
			t.Errorf("a page of %d bytes", len(page))
		}
	}
}

// A diff of many megabytes makes a page that a browser can show, and says what is left out.
func TestBigDiff(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 700 {
		fmt.Fprintf(&text, "diff --git a/f%d b/f%d\n--- a/f%d\n+++ b/f%d\n@@ -0,0 +1,400 @@\n%s", i, i, i, i, strings.Repeat("+0123456789012345678901234567890123456789\n", 400))
	}
	w := pages.Work{Files: hints.ParseDiff(text.String()), Task: tasks.Task{ID: "1"}}
	other := w
	other.Diff.Own = []string{"f3", "f1"}
	if v := pages.NewDiffView(other, nil, pages.Bounds{File: fileLines, All: pageLines}); v.Files[0].Other || v.Files[1].Other || !v.Files[2].Other || v.Files[2].Open {
		t.Errorf("what only other work changes does not come last, folded: %+v", v.Files[:3])
	}
	v := pages.NewDiffView(w, []hints.Hint{{Word: "tests removed", Mark: true, Places: []hints.Place{{File: "f650"}}}}, pages.Bounds{File: fileLines, All: pageLines})
	if v.Added != 280_000 || v.Count != 700 || v.Omitted != 200 || v.Files[0].Name != "f650" || !v.Files[0].Open || v.Files[1].Open {
		t.Errorf("+%d, %d files, %d omitted", v.Added, v.Count, v.Omitted)
	}
	page := drawn(t, &taskPage{Task: pages.Task{Diff: v, TaskState: pages.TaskState{TaskRow: pages.TaskRow{Task: &view.Task{Task: tasks.Task{ID: "1"}}}}}})
	if len(page) > 2<<20 || !strings.Contains(page, "100 more lines: show the whole file") || !strings.Contains(page, "200 more files") {
		t.Errorf("a page of %d bytes", len(page))
	}
}

// However hunks are cut, the parts are all of them.
func TestCutHunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []hints.Hunk
		n := 0
		for _, size := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 6).Draw(t, "hunks") {
			h := hints.Hunk{}
			for range size {
				n++
				h.Lines = append(h.Lines, hints.DiffLine{Kind: '+', New: n})
			}
			all = append(all, h)
		}
		room := rapid.IntRange(1, 12).Draw(t, "room")
		var got []int
		for skip := 0; ; skip += room {
			part, left := hints.CutHunks(all, skip, room)
			for _, h := range part {
				for _, l := range h.Lines {
					got = append(got, l.New)
				}
			}
			if len(got)+left != n {
				t.Fatalf("%d lines and %d left of %d", len(got), left, n)
			}
			if left == 0 {
				break
			}
		}
		if len(got) != n || !slices.IsSorted(got) {
			t.Fatalf("%v of %d", got, n)
		}
	})
}

// The conversation of a task is what its owners wrote while they worked on it: the newest lines,
// and the rest behind a link.
func TestConversation(t *testing.T) {
	t.Parallel()
	place := state.Place{Dir: t.TempDir(), Team: "crew"}
	var lines []events.Line
	for i := range 600 {
		who := []string{"ana", "ben"}[i%2]
		lines = append(lines, teamtest.Line(i+1, who, "message", fmt.Sprintf(`{"to":"lead","text":"line %d"}`, i+1)))
	}
	teamtest.WriteJournal(t, place, lines...)
	p := &Page{place: place}
	spans := []view.Span{{Member: "ana", First: 1, Last: 100}, {Member: "ben", First: 101, Last: 500}}
	seen := map[uint64]bool{}
	var before uint64
	for pages := 0; ; pages++ {
		found, err := conversation(p.place, spans, before)
		if err != nil || len(found.Lines) > shownLines || pages > 3 {
			t.Fatalf("page %d has %d lines, %v", pages, len(found.Lines), err)
		}
		for _, l := range found.Lines {
			if seen[l.Seq] || l.Seq <= 100 && l.Who != "ana" || l.Seq > 100 && l.Who != "ben" {
				t.Errorf("%+v", l)
			}
			seen[l.Seq] = true
		}
		if found.Older == "" {
			break
		}
		before = found.Lines[0].Seq
		if found.Older != fmt.Sprintf("?before=%d#task-talk", before) {
			t.Errorf("%s, want %d", found.Older, before)
		}
	}
	if len(seen) != 250 {
		t.Errorf("%d lines", len(seen))
	}
}

// The differences of a task are those of its work, or of its owner's copy while it works.
func TestRequest(t *testing.T) {
	t.Parallel()
	of := func(s tasks.Status, owner string, m *view.Merge, unchanged bool) *pages.TaskState {
		return &pages.TaskState{TaskRow: pages.TaskRow{Merge: m, Task: &view.Task{Task: tasks.Task{ID: "1", Status: s, Owner: owner, Unchanged: unchanged}}}}
	}
	for want, state := range map[merging.DiffRequest]*pages.TaskState{
		{Task: "1"}:     of(tasks.Completed, "ana", &view.Merge{}, false),
		{Member: "ana"}: of(tasks.InProgress, "ana", nil, false),
	} {
		if got, none := state.Changes(); got != want || none != "" {
			t.Errorf("%+v, %q", got, none)
		}
	}
	for _, state := range []*pages.TaskState{
		of(tasks.Completed, "ana", nil, false), of(tasks.Completed, "ana", nil, true), of(tasks.Pending, "ana", nil, false),
	} {
		if got, none := state.Changes(); got != (merging.DiffRequest{}) || none == "" {
			t.Errorf("%+v, %q", got, none)
		}
	}
}
