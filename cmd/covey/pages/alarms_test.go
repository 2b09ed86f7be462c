package pages

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// edit makes the difference of one file: its header lines, and its lines.
func edit(name, header string, lines ...string) string {
	var old, now int
	for _, l := range lines {
		switch l[0] {
		case '-':
			old++
		case '+':
			now++
		}
	}
	text := "diff --git a/" + name + " b/" + name + "\n" + header + "--- a/" + name + "\n+++ b/" + name + "\n"
	if len(lines) == 0 {
		return text
	}
	return text + strings.NewReplacer("OLD", itoa(old), "NEW", itoa(now)).Replace("@@ -1,OLD +1,NEW @@\n") +
		strings.Join(lines, "\n") + "\n"
}

func itoa(n int) string { return string(rune('0' + n)) }

func TestAlarms(t *testing.T) {
	t.Parallel()
	judges := merging.Judges{
		Files: []string{"team.yaml", ".claude/settings.json", "plug", "ci/gate.sh"}, Programs: []string{"make", "check", "gate.sh", "cargo", "test"},
	}
	gone, fresh := "deleted file mode 100644\n", "new file mode 100644\n"
	for name, tc := range map[string]struct {
		task   string
		diff   string
		change func(*Work)
		want   string
	}{
		"nothing":        {"", "", nil, ""},
		"what was asked": {"Add sum.go", edit("sum.go", fresh, "+x") + edit("sum_test.go", fresh, "+func TestSum(t *testing.T) {"), nil, ""},
		"other work": {"", edit("x", "", "+x"), func(w *Work) {
			w.Review.Brings = []api.Brought{{Merge: tasks.Merge{Tasks: []string{"4"}, Title: "Ease the gate", Member: "ana"}, Changes: []string{"gate.sh"}}}
		}, "(brings other work gate.sh)"},
		"a gate's script":     {"", edit("ci/gate.sh", "", "-go test", "+exit 0"), nil, "gate changed ci/gate.sh"},
		"the spec":            {"", edit("team.yaml", "", "+x"), nil, "gate changed team.yaml"},
		"settings":            {"", edit(".claude/settings.json", "", "+x"), nil, "gate changed .claude/settings.json"},
		"a plugin":            {"", edit("plug/hooks/hooks.json", "", "+x"), nil, "gate changed plug/hooks/hooks.json"},
		"a program's file":    {"", edit("Makefile", "", "+x") + edit("sub/Cargo.toml", "", "+x"), nil, "gate changed Makefile sub/Cargo.toml"},
		"no program's file":   {"", edit("package.json", "", "+x"), nil, ""},
		"a gate moves away":   {"", "diff --git a/ci/gate.sh b/old.sh\nrename from ci/gate.sh\nrename to old.sh\n", nil, "gate changed old.sh"},
		"a test is deleted":   {"", edit("a/x_test.go", gone, "-func TestX(t *testing.T) {}"), nil, "test deleted a/x_test.go"},
		"a test is renamed":   {"", "diff --git a/x.test.ts b/x.ts.off\nrename from x.test.ts\nrename to x.ts.off\n", nil, "test deleted x.ts.off"},
		"a test moves":        {"", "diff --git a/x.test.ts b/y.test.ts\nrename from x.test.ts\nrename to y.test.ts\n", nil, ""},
		"a file is deleted":   {"", edit("x.go", gone, "-x"), nil, "file deleted x.go"},
		"a test is removed":   {"", edit("x_test.go", "", "-func TestX(t *testing.T) {", "+// nothing"), nil, "tests removed x_test.go: TestX"},
		"a test changes file": {"", edit("test_x.py", "", "-def test_a():", "+pass") + edit("test_y.py", "", "+def test_a():"), nil, ""},
		"tests shrink":        {"", edit("x_test.go", "", "-if a != b {", "-}", "+_ = a"), nil, "(tests shrink x_test.go)"},
		"a test is skipped":   {"", edit("x_test.go", "", `+	t.Skip("later")`), nil, `test skipped x_test.go: t.Skip("later")`},
		"a skip moves":        {"", edit("x_test.go", "", "-t.Skip()", "+  t.Skip()"), nil, ""},
		"only one test":       {"", edit("src/x.spec.ts", "", "+it.only('a', () => {"), nil, "test skipped src/x.spec.ts: it.only('a', () => {"},
		"xit":                 {"", edit("__tests__/x.js", "", "+xit('a', f)"), nil, "test skipped __tests__/x.js: xit('a', f)"},
		"pytest":              {"", edit("tests/x.py", "", "+@pytest.mark.skip"), nil, "test skipped tests/x.py: @pytest.mark.skip"},
		"ignored in Rust":     {"", edit("lib.rs", "", "+#[ignore]"), nil, "test skipped lib.rs: #[ignore]"},
		"skip is a word":      {"", edit("x.go", "", "+skip(a)"), nil, ""},
		"not its files":       {"", "", func(w *Work) { w.Review.Outside = []string{"b"} }, "not its files b"},
		"protected":           {"", "", func(w *Work) { w.Review.Protected = []string{"c"} }, "protected c"},
		"another file":        {"Fix the sum in calc/sum.go", edit("calc/sum.go", "", "+x") + edit("README.md", "", "+x"), nil, "also changes README.md"},
		"named by its folder": {"Fix calc", edit("calc/sum.go", "", "+x") + edit("calc/deep/y.go", "", "+x"), nil, ""},
		"no file is named":    {"Make it faster", edit("calc/sum.go", "", "+x") + edit("x", "", "+x"), nil, ""},
		"binary":              {"", "diff --git a/p b/p\nBinary files a/p and b/p differ\n", nil, "(binary p)"},
		"withheld":            {"", "", func(w *Work) { w.Diff.Withheld = "big.bin" }, "(not shown)"},
		"below a folder": {"", edit("sub/team.yaml", "", "+x") + edit("y", "", "+x"), func(w *Work) {
			w.Diff.Prefix = "sub"
		}, "gate changed team.yaml"},
		"these files were judged": {"", "", func(w *Work) {
			w.Review.Tree, w.Review.Verdicts = "t1", []requests.Verdict{passed("t0", "task"), passed("t1", "task")}
		}, ""},
		"other files were judged": {"", "", func(w *Work) {
			w.Review.Tree, w.Review.Verdicts = "t1", []requests.Verdict{passed("t0", "task"), passed("t1", "merge")}
		}, "other files judged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Work{Task: tasks.Task{Subject: tc.task}, Files: ParseDiff(tc.diff), Judges: judges}
			if tc.change != nil {
				tc.change(&w)
			}
			var got []string
			for _, a := range w.Alarms() {
				text := strings.TrimSpace(a.Word + " " + strings.Join(a.Files, " "))
				if a.Weak {
					text = "(" + text + ")"
				}
				got = append(got, text)
			}
			if strings.Join(got, "; ") != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func passed(tree, moment string) requests.Verdict {
	return requests.Verdict{VerdictKey: requests.VerdictKey{Tree: tree}, Moment: moment, Pass: true}
}

func TestStateAlarms(t *testing.T) {
	t.Parallel()
	done := &view.Task{Task: tasks.Task{ID: "2", Status: tasks.Completed}}
	gate := func(v view.Verdict, hooks ...view.HookRun) view.State {
		return view.State{Gates: []*view.Gate{{Event: "TaskCompleted", Task: "2", Verdict: v, Hooks: hooks}}}
	}
	merge := func(id, task, from, commit string, s tasks.MergeState) *view.Merge {
		return &view.Merge{Merge: tasks.Merge{ID: id, Tasks: []string{task}, From: from, Commit: commit, State: s, Title: "T" + task}}
	}
	for name, tc := range map[string]struct {
		state view.State
		gated bool
		task  *view.Task
		want  []string
	}{
		"agreed":       {gate(view.Agreed), true, done, nil},
		"no gates":     {view.State{}, false, done, nil},
		"forced":       {gate(view.Refused), true, done, []string{"no gate agreed"}},
		"not complete": {gate(view.Refused), true, &view.Task{Task: tasks.Task{ID: "2"}}, nil},
		"too old":      {view.State{Dropped: view.Dropped{Gates: 1}}, true, done, nil},
		"unchanged": {gate(view.Agreed), true, &view.Task{Task: tasks.Task{ID: "2", Status: tasks.Completed, Unchanged: true}},
			[]string{"nothing changed"}},
		"failed": {gate(view.Agreed, view.HookRun{Command: "x", FailedOpen: true}), true, done, []string{"hook failed"}},
		"it ran later": {gate(view.Agreed, view.HookRun{Command: "x", FailedOpen: true}, view.HookRun{Command: "x"}), true, done,
			nil},
		"upon returned work": {view.State{Merges: []*view.Merge{
			merge("1", "1", "a", "b", tasks.MergeReturned), merge("2", "3", "b", "c", tasks.MergeWaiting),
			merge("3", "2", "c", "d", tasks.MergeWaiting),
		}}, false, done, []string{"builds on returned work"}},
		"upon good work": {view.State{Merges: []*view.Merge{
			merge("1", "1", "a", "b", tasks.MergeWaiting), merge("2", "2", "b", "c", tasks.MergeWaiting),
		}}, false, done, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, a := range StateAlarms(&tc.state, tc.state.Works(), tc.task, tc.gated) {
				got = append(got, a.Word)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// A task whose work is merged in the end says no more that it builds on anything.
func TestUponReturnedEnds(t *testing.T) {
	t.Parallel()
	s := &view.State{Merges: []*view.Merge{{Merge: tasks.Merge{ID: "1", Tasks: []string{"2"}, State: tasks.MergeDone}}}}
	if got := uponReturned(s, s.Works().Merges["2"], "2"); got != "" {
		t.Error(got)
	}
}
