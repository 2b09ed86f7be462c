package merging

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// bench is a member's working copy with a book before its gates.
type bench struct {
	*Book
	t     testing.TB
	c     Case
	store *tasks.Store
	again int // verdicts that were used again
}

func newBench(t testing.TB, files string) *bench {
	t.Helper()
	repo := newRepo(t, files)
	b := &bench{t: t, store: newStore(t)}
	var mu sync.Mutex
	b.Book = &Book{
		Store: b.store.Verdicts(), Scripts: testkit.Folder(t), Warn: func(err error) { t.Error(err) },
		Reused: func(requests.Verdict) { mu.Lock(); defer mu.Unlock(); b.again++ },
	}
	member := copyOf(t, repo, "ana")
	b.c = Case{
		Copy: member, Base: "main", Trust: repo.Top, Cwd: member.Top, Index: filepath.Join(testkit.Folder(t), "index"),
		Subject: "1", Moment: "task", Member: "ana",
	}
	return b
}

// ask runs gates on the copy as a team would, through the book.
func (b *bench) ask(gates ...hooks.Handler) hooks.Outcome {
	b.t.Helper()
	for i := range gates {
		gates[i].Type, gates[i].Gate = "command", true
	}
	hookRunner, err := runner.New([]settings.Source{{Name: "gates", Settings: hooks.Settings{
		hooks.TaskCompleted: {{Hooks: gates}},
	}}}, &runner.Options{Gates: func(ctx context.Context, _ hooks.Input, gate hooks.Handler) runner.GateRun {
		return b.Plan(ctx, b.c, gate)
	}})
	testkit.Must(b.t, err)
	out, err := hookRunner.Run(b.t.Context(), hooks.Input{
		Common: hooks.Common{Cwd: b.c.Cwd}, Payload: hooks.TaskCompletedInput{},
	}, nil)
	testkit.Must(b.t, err)
	return out
}

// line is a gate that is a command line.
func line(command string) hooks.Handler { return hooks.Handler{Command: command} }

// runs counts how often a gate that writes a line beside the copy has run.
func (b *bench) runs(file string) int {
	data, _ := os.ReadFile(file)
	return strings.Count(string(data), "\n")
}

func TestUnchangedTreeIsNotTestedTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo 1 >a")
	count := filepath.Join(testkit.Folder(t), "runs")
	gate := line("echo ran >>" + count + "; echo looked; ! grep -q bad a")
	step := func(what, change string, pass bool, runs int) {
		t.Helper()
		if change != "" {
			testkit.Shell(t, b.c.Copy.Top, change)
		}
		if out := b.ask(gate); (out.Decision == hooks.Pass) != pass || b.runs(count) != runs {
			t.Errorf("%s: %s after %d runs, want %v after %d", what, out.Decision, b.runs(count), pass, runs)
		}
	}
	step("the first time", "", true, 1)
	step("nothing has changed", "", true, 1)
	step("what is committed is no other tree", "git add -A; git commit -q --allow-empty -m x", true, 1)
	step("a new file", "echo 2 >b", true, 2)
	step("it is staged", "git add b", true, 2)
	step("it is executable", "chmod +x b", true, 3)
	step("a refusal", "echo bad >a", false, 4)
	step("a refusal is asked for again", "", false, 5)
	step("back to what has passed", "echo 1 >a", true, 5)
	b.c.Subject = "2"
	step("another task", "", true, 6)
	if b.again != 4 {
		t.Errorf("used again %d times", b.again)
	}
	list, err := b.store.Verdicts().About(t.Context(), "1")
	testkit.Must(t, err)
	if len(list) != 4 || list[0].Command != gate.Command || list[0].Log != "looked\n" || list[0].Duration <= 0 {
		t.Errorf("%+v", list)
	}
}

// A gate that has passed in another sandbox, or in none, runs again.
func TestSandboxIsPartOfAGate(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo 1 >a")
	count := filepath.Join(testkit.Folder(t), "runs")
	var s configs.Sandbox
	b.Sandbox = func(gate hooks.Handler) configs.Sandbox { return s.With(gate.Sandbox) }
	want := 0
	for _, c := range []struct {
		what string
		box  configs.Sandbox
		own  *hooks.Sandbox
		runs int
	}{
		{"none", configs.Sandbox{}, nil, 1},
		{"none again", configs.Sandbox{Level: sandbox.Off}, nil, 0},
		{"the team's", configs.Sandbox{Level: sandbox.Best}, nil, 1},
		{"the same", configs.Sandbox{Level: sandbox.Best}, nil, 0},
		{"without a network", configs.Sandbox{Level: sandbox.Best, Network: sandbox.NetworkOff}, nil, 1},
		{"with more to read", configs.Sandbox{Level: sandbox.Best, Read: []string{"/x"}}, nil, 1},
		{"its own", configs.Sandbox{Level: sandbox.Best}, &hooks.Sandbox{Network: sandbox.NetworkList, Hosts: []string{"a"}}, 1},
		{"its own with another host", configs.Sandbox{Level: sandbox.Best}, &hooks.Sandbox{Network: sandbox.NetworkList, Hosts: []string{"b"}}, 1},
		{"the team's again", configs.Sandbox{Level: sandbox.Best}, nil, 0},
	} {
		s, want = c.box, want+c.runs
		gate := line("echo ran >>" + count)
		gate.Sandbox = c.own
		if out := b.ask(gate); out.Decision != hooks.Pass || b.runs(count) != want {
			t.Errorf("%s: %s after %d runs, want %d", c.what, out.Decision, b.runs(count), want)
		}
	}
}

// A gate under which the files change has said nothing about either of them.
func TestTreeThatMovesHasNoVerdict(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo 1 >a")
	b.ask(line("echo 2 >>a"))
	if list, err := b.store.Verdicts().About(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	testkit.Shell(t, b.c.Copy.Top, "git init -q inner; echo x >inner/x") // no tree holds what lies in there
	b.ask(line("true"))
	if list, err := b.store.Verdicts().About(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("with a repository inside: %+v, %v", list, err)
	}
}

// Nobody can edit its own judge (issue 5, point 6).
func TestGatesRunTheScriptsOfTheBase(t *testing.T) {
	t.Parallel()
	const files = "mkdir policy; printf '#!/bin/sh\necho refused by $0; exit 1\n' >policy/gate.sh; " +
		"chmod +x policy/gate.sh; cp policy/gate.sh plain.sh; chmod -x plain.sh; " +
		"printf 'import sys; sys.exit(1)\n' >check.py"
	const lenient = "printf '#!/bin/sh\nexit 0\n' >"
	for name, tc := range map[string]struct {
		change string
		gate   hooks.Handler
	}{
		"edited":         {lenient + "policy/gate.sh", line("./policy/gate.sh")},
		"committed":      {lenient + "policy/gate.sh; git commit -qam x", line("policy/gate.sh")},
		"removed":        {"rm policy/gate.sh", line("./policy/gate.sh")},
		"linked":         {"rm policy/gate.sh; ln -s /bin/true policy/gate.sh", line("./policy/gate.sh")},
		"its folder is":  {"rm -r policy; mkdir p; " + lenient + "p/gate.sh; chmod +x p/gate.sh; ln -s p policy", line("./policy/gate.sh")},
		"interpreted":    {lenient + "plain.sh", line("sh plain.sh")},
		"behind env":     {lenient + "plain.sh", line("env A=1 sh -e plain.sh && true")},
		"a list":         {lenient + "plain.sh", hooks.Handler{Command: "sh", Args: []string{"plain.sh"}}},
		"a list itself":  {lenient + "policy/gate.sh", hooks.Handler{Command: "./policy/gate.sh", Args: []string{}}},
		"not executable": {"chmod -x policy/gate.sh", line("./policy/gate.sh")},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, files)
			testkit.Shell(t, b.c.Copy.Top, tc.change)
			if out := b.ask(tc.gate); out.Decision != hooks.Block {
				t.Errorf("the gate agreed: %+v", out.Results)
			}
		})
	}
}

func TestScriptsThatTheBaseLacks(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo 1 >a")
	top := b.c.Copy.Top
	// The workspace has it, though in no commit: it is trusted as it lies there.
	testkit.Shell(t, b.c.Trust, "printf '#!/bin/sh\nexit 1\n' >gate.sh; chmod +x gate.sh")
	testkit.Shell(t, top, "printf '#!/bin/sh\nexit 0\n' >gate.sh; chmod +x gate.sh")
	if out := b.ask(line("./gate.sh")); out.Decision != hooks.Block {
		t.Errorf("the member's own script was run: %+v", out.Results)
	}
	// Nobody but the member has it: there is nothing else that could be run.
	testkit.Shell(t, top, "printf '#!/bin/sh\nexit 0\n' >own.sh; chmod +x own.sh")
	if out := b.ask(line("./own.sh")); out.Decision != hooks.Pass {
		t.Errorf("%+v", out.Results)
	}
}

func TestScriptsRunWhereTheyAreWhileUnchanged(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mkdir p; echo yes >p/word; printf '#!/bin/sh\ngrep -q yes \"$(dirname $0)/word\"\n' >p/gate.sh; chmod +x p/gate.sh")
	if out := b.ask(line("./p/gate.sh")); out.Decision != hooks.Pass {
		t.Errorf("it did not find its neighbour: %+v", out.Results)
	}
}

func TestLinkInTheBaseIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo 'exit 0' >real.sh; ln -s real.sh gate.sh")
	out := b.ask(line("sh gate.sh"))
	if out.Decision != hooks.Block || !strings.Contains(out.Feedback[0], "link") {
		t.Errorf("%+v", out)
	}
}

// A gate whose script has changed in the base is another gate.
func TestNewScriptIsANewGate(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo 'exit 0' >gate.sh")
	b.ask(line("sh gate.sh"))
	testkit.Shell(t, b.c.Trust, "echo 'echo stricter; exit 1' >gate.sh; git commit -qam stricter")
	b.c.Base = testkit.Shell(t, b.c.Trust, "git rev-parse main")
	if out := b.ask(line("sh gate.sh")); out.Decision != hooks.Block {
		t.Errorf("the verdict of the old script was used: %+v", out)
	}
}

func TestManyGatesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo 1 >a")
	var gates []hooks.Handler
	for _, n := range strings.Fields("1 2 3 4 5 6 7 8") {
		gates = append(gates, line("true "+n))
	}
	b.ask(gates...)
	b.ask(gates...)
	if list, err := b.store.Verdicts().About(t.Context(), ""); err != nil || len(list) != 8 || b.again != 8 {
		t.Errorf("%d verdicts, used again %d times, %v", len(list), b.again, err)
	}
}

func TestBookOfNoCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo 'exit 0' >gate.sh")
	b.c.Base = "nowhere"
	if out := b.ask(line("sh gate.sh")); out.Decision != hooks.Block {
		t.Errorf("without a base: %+v", out)
	}
	var repo *worktree.Repo = b.c.Copy
	if head, err := repo.Head(t.Context()); err != nil || head.Branch != "covey/crew/ana" {
		t.Errorf("%+v, %v", head, err)
	}
}
