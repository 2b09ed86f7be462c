package compare

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

func TestReadTasks(t *testing.T) {
	t.Parallel()
	const good = "covey-task: 1\nrepository: ../shop\ncommit: abc\ngoal: Mend it.\naccept: make check\n"
	dir := testkit.Files(t, map[string]string{
		"b.yaml": good, "a.json": `{"covey-task": 1, "repository": "https://example.com/x.git", "commit": "c", "goal": "g", "accept": "true"}`,
		"accept.sh": "exit 1\n", "more/c.yaml": "no task",
	})
	list, err := ReadTasks(dir)
	testkit.Must(t, err)
	if len(list) != 2 || list[0].ID != "a" || list[0].Repository != "https://example.com/x.git" ||
		list[1] != (Task{ID: "b", Repository: filepath.Join(filepath.Dir(dir), "shop"), Commit: "abc", Goal: "Mend it.", Accept: "make check", Dir: dir}) {
		t.Errorf("got %+v", list)
	}
	for content, want := range map[string]string{
		"":                                    "the task file is empty",
		"covey-task: 2\n":                     "covey-task",
		good + "tests: x\n":                   `bad.yaml:6:1: unknown key "tests"`,
		"covey-task: 1\ngoal: g\n":            "has no",
		strings.Replace(good, "abc", "-x", 1): "does not begin with a dash",
	} {
		bad := testkit.Files(t, map[string]string{"bad.yaml": content})
		if _, err := ReadTasks(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
	if _, err := ReadTasks(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no task file") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestArms(t *testing.T) {
	t.Parallel()
	gate := hooks.Settings{hooks.TaskCompleted: {{Hooks: []hooks.Handler{{Command: "make"}}}}}
	team := &configs.Team{
		Lead: configs.Member{Name: "boss"}, Teammates: []configs.Member{{Name: "ana"}}, Tasks: []configs.Task{{ID: "1", Owner: "ana"}},
		Gates: gate, Hooks: gate, Keep: true, Merge: configs.Merge{Into: "release", Via: configs.ViaPR},
	}
	lead := Of(team, "lead-without-hooks-without-gates", "/copy")
	if len(lead.Teammates) > 0 || lead.Tasks[0].Owner != "boss" || lead.Gates != nil || lead.Hooks != nil || lead.Workspace != "/copy" ||
		lead.Lead.Isolation != configs.Shared || lead.Keep {
		t.Errorf("the lead alone: %+v", lead)
	}
	whole := Of(team, "team", "/copy")
	if len(whole.Teammates) != 1 || whole.Gates == nil || !whole.Merge.Given || whole.Merge.Via != configs.ViaBranch || whole.Merge.Into != "" {
		t.Errorf("the team: %+v", whole)
	}
	if team.Tasks[0].Owner != "ana" || team.Merge.Into != "release" {
		t.Errorf("the spec's own team has changed: %+v", team)
	}
	for arm, ok := range map[string]bool{
		"lead": true, "team-without-gates": true, "team-without-gates-without-hooks": true, "": false, "ana": false, "team-without-tests": false, "-without-gates": false,
	} {
		if (CheckArm(arm) == nil) != ok {
			t.Errorf("%q: %v", arm, CheckArm(arm))
		}
	}
}

// TestCopy: a copy begins with the commit of its task, and has nothing that came after it.
func TestCopy(t *testing.T) {
	t.Parallel()
	from := testkit.Repository(t, "echo 1 >a")
	commit := strings.TrimSpace(testkit.Shell(t, from, "git rev-parse HEAD"))
	testkit.Shell(t, from, "echo 2 >a; git commit -qam later; git tag solved; git branch solution; git reset -q --hard HEAD~1")
	to := filepath.Join(t.TempDir(), "copy")
	for i, name := range []string{commit, commit[:7]} {
		to := fmt.Sprint(to, i)
		testkit.Must(t, Task{Repository: from, Commit: name}.Copy(t.Context(), to))
		if got := testkit.Shell(t, to, "git for-each-ref --format='%(refname)'; git status --porcelain; git rev-parse HEAD; git rev-list --all --count"); got != "refs/heads/main\n"+commit+"\n1" {
			t.Errorf("the copy of %s has\n%s", name, got)
		}
	}
	if err := (Task{Repository: from, Commit: "gone"}).Copy(t.Context(), to+"2"); !errors.Is(err, worktree.ErrNoRef) || !strings.Contains(err.Error(), "git gets no commit gone from "+from) {
		t.Errorf("a commit that is not there: %v", err)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for command, want := range map[string]bool{"true": true, "echo no; exit 3": false, `test "$COVEY_TASK" = /tasks && test "$PWD" = "$HERE"`: false, `test "$COVEY_TASK" = /tasks`: true} {
		ok, output, err := Task{Accept: command, Dir: "/tasks"}.Judge(t.Context(), dir)
		if err != nil || ok != want || strings.HasPrefix(command, "echo") && output != "no\n" {
			t.Errorf("%s: %v, %q, %v", command, ok, output, err)
		}
	}
}

// TestBook: results stay, those of another comparison are refused, and a run that was cut off counts for the
// budget and is made again.
func TestBook(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "book")
	runs := Runs([]Task{{ID: "a"}, {ID: "b"}}, []string{"lead", "team"}, 2)
	b, err := OpenBook(dir, "one")
	testkit.Must(t, err)
	testkit.Must(t, b.Begin(runs[0], "/folder", state.Place{Dir: "/place"}))
	testkit.Must(t, b.Add(runs[0], Result{Accepted: true, Used: Used{Tokens: 10, Seconds: 1}}))
	testkit.Must(t, b.End(runs[0]))
	testkit.Must(t, b.Begin(runs[1], "/other", state.Place{Dir: "/place"}))

	for range 2 { // cut off again
		b, err = OpenBook(dir, "one")
		testkit.Must(t, err)
		var left []string
		testkit.Must(t, b.Unfinished(runs, func(folder string, at state.Place) (Used, error) {
			left = append(left, folder+" "+at.Dir)
			return Used{Tokens: 5, CostUSD: 1}, nil
		}))
		if len(left) != 1 || left[0] != "/other /place" || b.Has(runs[1]) || !b.Has(runs[0]) {
			t.Errorf("left %v", left)
		}
		testkit.Must(t, b.Begin(runs[1], "/other", state.Place{Dir: "/place"}))
	}
	if u := b.Spent(); u.Tokens != 20 || u.CostUSD != 2 || u.Seconds != 1 {
		t.Errorf("spent %+v", u)
	}
	if _, err := OpenBook(dir, "two"); err == nil || !strings.Contains(err.Error(), "another comparison") {
		t.Errorf("another comparison: %v", err)
	}
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "runs", "a.lead.1.result.json"), []byte("{"), 0o600))
	if _, err := OpenBook(dir, "one"); err == nil || !strings.Contains(err.Error(), "a.lead.1.result.json is damaged") {
		t.Errorf("a damaged result: %v", err)
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	one := func(arm string, accepted bool, tokens int64) Result {
		return Result{Task: "<b>", Arm: arm, Accepted: accepted, Used: Used{Tokens: tokens, Turns: int(tokens / 10), Least: arm == "team"}}
	}
	cut := one("lead", true, 1000)
	cut.Cut = true
	r := Summarize([]string{"lead", "team", "none"}, []Result{one("lead", true, 10), one("lead", false, 30), one("lead", true, 20), one("team", true, 40), one("team", true, 60), cut})
	lead, team := r.Arms[0], r.Arms[1]
	if lead.Runs != 3 || lead.Accepted != 2 || lead.Tokens != (Spread{20, 10, 30}) || team.Tokens != (Spread{50, 40, 60}) || r.Arms[2].Runs != 0 {
		t.Errorf("got %+v", r.Arms)
	}
	if math.Abs(lead.Low-0.2077) > 1e-3 || math.Abs(lead.High-0.9385) > 1e-3 || team.High != 1 || r.Arms[2].Low != 0 || r.Arms[2].High != 1 {
		t.Errorf("intervals %+v", r.Arms)
	}
	r.Missing, r.Why = 1, "the budget is used"
	var text strings.Builder
	r.Print(term.NewScreen(&text))
	for _, want := range []string{"lead  2 of 3 (21 to 94 %)", "20 (10 to 30)", "≥ 50 (40 to 60)", "not complete: 1 run missing: the budget is used"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	page, err := r.HTML()
	if err != nil || !strings.Contains(string(page), "<td>2 of 3 (21 to 94 %)</td>") || !strings.Contains(string(page), "&lt;b&gt;") || !strings.Contains(string(page), "cut off") {
		t.Errorf("%v\n%s", err, page)
	}
}
