package merging

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// The two kinds of work: a task's, and whatever lies in a member's branch.
var (
	taskWork = tasks.Merge{
		ID: "1", Tasks: []string{"3", "4"}, Title: "Add it", Member: "ana", Branch: "b", Into: "main", Result: "0123456789ab",
	}
	branchWork = tasks.Merge{
		ID: "2", Title: "work of ben", Member: "ben", Branch: "covey/crew/ben", Into: "main",
	}
)

// TestSetbacks: whoever gets work back reads what is wrong, where, what to do and how to
// say that it is done. A person reads the reason in one line.
func TestSetbacks(t *testing.T) {
	t.Parallel()
	files := []string{"a.go", "it's.go"}
	for name, tc := range map[string]struct {
		back          setback
		reason, title string
		todo          []string
	}{
		"conflict": {
			conflict(taskWork, files), "it conflicts with main", "Resolve the merge conflict of tasks 3 and 4",
			[]string{"(tasks 3 and 4: Add it)", "- a.go\n- it's.go", "`git merge main`"},
		},
		"conflict of a branch": {
			conflict(branchWork, files), "it conflicts with main", "Resolve the merge conflict of your branch",
			[]string{"(work of ben)"},
		},
		"gates": {
			refused(taskWork, "\n  two tests fail\nTestA\nTestB\n\n"),
			"the gates refuse the merged state 0123456789: two tests fail TestA TestB", "Fix what the merge gates refuse in tasks 3 and 4",
			[]string{"two tests fail\nTestA\nTestB\n\nIn your", "`git merge main`"},
		},
		"silent gates": {
			refused(taskWork, ""), "the gates refuse the merged state 0123456789: ",
			"Fix what the merge gates refuse in tasks 3 and 4", []string{"refuse the result (commit 0123456789)"},
		},
		"notOwned": {
			notOwned(taskWork, files, []string{"docs/**", "*.md"}), "ana may not write there",
			"Undo changes outside your files in tasks 3 and 4", []string{"You may write to docs/**, *.md.", `'a.go' 'it'\''s.go'`},
		},
		"protected": {
			denied(taskWork, files, "ask first"), "these files are not to be changed: ask first",
			"Undo changes to protected files in tasks 3 and 4",
			[]string{"- a.go", "This was refused: these files", "git checkout"},
		},
		"protected, no word": {
			denied(taskWork, files, ""), "these files are not to be changed",
			"Undo changes to protected files in tasks 3 and 4", []string{"not to be changed\nUndo that"},
		},
		"not approved": {
			denied(taskWork, nil, "too big"), "approval was refused: too big",
			"Fix tasks 3 and 4, which was not approved", []string{"not approved for main: too big\n"},
		},
		"not approved, no word": {
			denied(branchWork, nil, ""), "approval was refused: ",
			"Fix your branch, which was not approved", []string{"no reason was given"},
		},
	} {
		if tc.back.reason != tc.reason || tc.back.title != tc.title {
			t.Errorf("%s: reason %q, title %q", name, tc.back.reason, tc.back.title)
		}
		for _, part := range append(tc.todo, "et this task to completed") {
			if !strings.Contains(tc.back.todo, part) {
				t.Errorf("%s: no %q in\n%s", name, part, tc.back.todo)
			}
		}
	}
}

// TestBecame: nobody reads that work is merged which is not.
func TestBecame(t *testing.T) {
	t.Parallel()
	done, back := tasks.Merge{State: tasks.MergeDone}, tasks.Merge{State: tasks.MergeReturned}
	held := tasks.Merge{State: tasks.MergeHeld}
	for want, list := range map[string][]tasks.Merge{
		"merged lead":                        {done, done},
		"0 of 1 merged, 1 sent back":         {back},
		"1 of 4 merged, 2 held, 1 sent back": {held, done, back, held},
	} {
		if got := Became(api.MergeRequest{Member: "lead"}, list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLanded: a run says what it has merged, by branch, with the commit that landed last.
func TestLanded(t *testing.T) {
	t.Parallel()
	at := func(minute int, into, result string, state tasks.MergeState) tasks.Merge {
		return tasks.Merge{Into: into, Result: result, State: state, Updated: time.Unix(int64(60*minute), 0)}
	}
	got := landed([]tasks.Merge{
		at(4, "main", "a000000000000", tasks.MergeDone), // came in with the first
		at(1, "main", "a000000000000", tasks.MergeDone), at(3, "main", "c000000000000", tasks.MergeDone),
		at(5, "main", "d000000000000", tasks.MergeReturned), at(6, "main", "", tasks.MergeDone),
		at(2, "release", "b000000000000", tasks.MergeDone),
	})
	want := "3 pieces of work merged into main (c000000000); 1 piece of work merged into release (b000000000)"
	if strings.Join(got, "; ") != want {
		t.Errorf("%q", got)
	}
	if got := landed(nil); got != nil {
		t.Errorf("nothing: %q", got)
	}
}

// TestMessage: git finds the trailers that say whose work a merge commit brings.
func TestMessage(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]tasks.Merge{
		"Merge tasks 3 and 4: Add it\n\nCovey-Member: ana\nCovey-Branch: b\nCovey-Task: 3\nCovey-Task: 4\n": taskWork,
		"Merge work of ben\n\nCovey-Member: ben\nCovey-Branch: covey/crew/ben\n":                            branchWork,
	} {
		if got := message(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPullText: what members, specs and gates say can neither break the text of a pull request
// nor name people and issues, and it says what refuses as well as what agrees.
func TestPullText(t *testing.T) {
	t.Parallel()
	m := taskWork
	m.Title, m.Result = "Fixes #12 of @ana | <b>", "c0ffee"
	evidence := tasks.Task{Evidence: []tasks.Evidence{{By: "ana", Text: "go test: *ok*\nsecond"}, {File: "log.txt"}}}
	got := PullText(m, []tasks.Task{evidence}, []requests.Verdict{
		{VerdictKey: requests.VerdictKey{Tree: "0123456789abcdef"}, Command: "a | b\nsecond", Moment: "merge",
			Pass: true, Duration: 1234567 * time.Nanosecond},
		{Command: "x=`date`", Moment: "task"},
	}, []hints.Hint{{Word: "tests removed", Text: "Tests are removed.", Mark: true, Places: []hints.Place{{File: "a_test.go", Line: 3, Text: "#1 @ana"}}}})
	want := "tasks 3 and 4: Fixes \\#&#8203;12 of @&#8203;ana \\| &lt;b&gt;\n\n" +
		"Made by ana in a covey team, branch `b`.\nIts receipt is `refs/covey/receipts/c0ffee`; `covey verify` checks it, before and after the merge.\n\n- evidence: go test: \\*ok\\* (ana)\n- evidence: log.txt (covey)\n\n" +
		"Look at this first:\n\n- ⚠ tests removed: Tests are removed. (a\\_test.go:3: \\#&#8203;1 @&#8203;ana)\n\n" +
		"| gate | verdict | tree | asked about | took |\n|-|-|-|-|-|\n" +
		"| `a \\| b` | agrees | `0123456789ab` | merge | 1ms |\n| `` x=`date` `` | refuses |  | task | 0s |\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestPullOf: the papers of each merge have a folder of their own, and the commands name
// the branch that the work is in and the one that it is for.
func TestPullOf(t *testing.T) {
	t.Parallel()
	p, other := PullOf("/papers", taskWork), PullOf("/papers", branchWork)
	if p.Body == other.Body || p.Title == other.Title || p.Title == p.Body {
		t.Errorf("%+v and %+v share files", p, other)
	}
	if got := strings.Join(p.Push, " "); got != "git push --set-upstream origin b refs/covey/receipts/0123456789ab" {
		t.Error(got)
	}
	open := strings.Join(other.Open, "|")
	if open != "gh|pr|create|--base|main|--head|covey/crew/ben|--title|work of ben|--body-file|"+other.Body {
		t.Error(open)
	}
}

// TestRoundOf: a task that mends work counts on from how often that has come back;
// metadata that says something else is no reason to fail.
func TestRoundOf(t *testing.T) {
	t.Parallel()
	earlier := []tasks.Merge{{ID: "1", Round: 2}, {ID: "2", Round: 1}}
	for meta, want := range map[string]int{`"1"`: 2, `"2"`: 1, `"3"`: 0, `7`: 0, `{`: 0, `""`: 0, ``: 0} {
		task := &tasks.Task{Metadata: map[string]json.RawMessage{KeyMerge: json.RawMessage(meta)}}
		if got := roundOf(task, earlier); got != want {
			t.Errorf("%s: round %d, want %d", meta, got, want)
		}
	}
	if roundOf(nil, earlier) != 0 || roundOf(&tasks.Task{}, earlier) != 0 {
		t.Error("what mends nothing begins at 0")
	}
}

// TestTaskBranch: tasks have branches beside their author's, so that no branch is a
// folder of another, which git refuses.
func TestTaskBranch(t *testing.T) {
	t.Parallel()
	own := "covey/crew/ana"
	q := &Queue{Home: "covey/crew-1234abcd"}
	for _, named := range []string{"", "feature", "by/hook"} { // by a hook
		if got := q.taskBranch(named, "7"); got != "covey/crew-1234abcd/task_7" {
			t.Errorf("beside %q: %s", named, got)
		}
	}
	for _, id := range []string{"1", "12"} {
		got := q.taskBranch(own, id)
		if !strings.HasPrefix(got, "covey/crew/") || !strings.HasSuffix(got, id) || strings.HasPrefix(got, own+"/") {
			t.Errorf("task %s: %s", id, got)
		}
	}
}
