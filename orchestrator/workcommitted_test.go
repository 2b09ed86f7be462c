package orchestrator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/writes"
)

// blamedIn are the lines of git's status in a verdict.
func blamedIn(t *testing.T, got hooks.Result) string {
	t.Helper()
	if got.Outcome == hooks.Success {
		return ""
	}
	_, list, ok := strings.Cut(got.Feedback, "not committed:\n")
	list, _, end := strings.Cut(list, "\nCommit what belongs to your task")
	if !ok || !end || got.Outcome != hooks.Blocking {
		t.Errorf("the policy says %+v", got)
	}
	return list
}

// wantBlamed checks what the gates said, in order: a list of lines of git's status each.
func (r *rig) wantBlamed(want ...string) {
	r.t.Helper()
	var got []string
	for _, text := range r.feedbacks() {
		got = append(got, blamedIn(r.t, hooks.Result{Outcome: hooks.Blocking, Feedback: text}))
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("blamed for %q, want %q\n%s", got, want, show(r.lines.All()))
	}
}

// leave puts files into the workspace that nobody has committed.
func (r *rig) leave(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("a person's\n"), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// thenCommits is a step that answers the policy.
func thenCommits(file string) string {
	return "  - when: not committed\n" + strings.Replace(shell("git add "+file+" && git commit -qm mine -- "+file), "  - call", "    call", 1)
}

// TestWorkCommittedOfTheLead: the lead works in the user's folder, and is not asked to
// commit what the user has there.
func TestWorkCommittedOfTheLead(t *testing.T) {
	t.Parallel()
	g := newGrove(t, map[string]string{
		"team.yaml": pairSpec + "defaults: {permission_mode: bypassPermissions}\ngates: {stop: [{policy: work-committed}]}\n",
		"lead.yaml": "steps:\n" + shell("echo 1 >lead.txt") + "  - {say: That is it.}\n" + thenCommits("lead.txt") + restOfScript,
		"dev.yaml":  "steps: [{say: fine, times: -1}]\n", "a.txt": "a\n",
	})
	g.leave("a.txt", "notes.txt")
	g.want(g.run(Options{}), CodeDone, "all work is done")
	g.wantBlamed("?? lead.txt")
	if got := g.git("status --porcelain"); got != "M a.txt\n?? notes.txt" {
		t.Errorf("left %q", got)
	}
}

// TestWorkCommittedInACopy: what worktree.setup leaves in a member's working copy is not
// the member's.
func TestWorkCommittedInACopy(t *testing.T) {
	t.Parallel()
	g := newGrove(t, map[string]string{
		"team.yaml": pairSpec + "defaults: {permission_mode: bypassPermissions}\nworktree: {setup: [touch left.txt]}\n" +
			"gates: {task: [{policy: work-committed}]}\ntasks: [{id: a, subject: A, owner: dev}]\n",
		"lead.yaml": leadLetsWork,
		"dev.yaml":  "steps:\n" + shell("echo 1 >own.txt") + completesOne + thenCommits("own.txt") + completesOne + restOfScript,
	})
	g.want(g.run(Options{}), CodeDone, "all work is done")
	g.wantBlamed("?? own.txt")
	if _, err := os.Stat(g.tree("dev", "left.txt")); err != nil {
		t.Error("setup has left nothing:", err)
	}
}

// TestWorkCommittedKilled: a turn that goes on after kill -9 is held to what it wrote before
// the kill, and to nothing else.
func TestWorkCommittedKilled(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"shared", "worktree"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			wait := `touch "$COVEY_WORKSPACE/ready.log"; until [ -e "$COVEY_WORKSPACE/go.log" ]; do sleep 0.05; done`
			g := newGrove(t, map[string]string{
				"team.yaml": strings.Replace(pairSpec, "dev: {model: dev}",
					"dev: {model: dev, isolation: "+isolation+"}", 1) +
					"defaults: {permission_mode: bypassPermissions}\ngates: {task: [{policy: work-committed}]}\n" + ownedByDev,
				"lead.yaml": leadLetsWork, ".gitignore": "*.log\n",
				"dev.yaml": "steps:\n" + shell("echo 1 >own.txt") + shell(wait) + completesOne + thenCommits("own.txt") +
					completesOne + restOfScript,
			})
			g.leave("notes.txt")
			if g.runAndKill(1, func() { g.awaitFile("ready.log") }) {
				t.Fatal("the team ended before it was killed")
			}
			g.leave("go.log")
			g.want(g.run(Options{}), CodeDone, "all work is done")
			g.wantBlamed("?? own.txt")
		})
	}
}

// awaitFile waits until a program has made a file in the workspace.
func (r *rig) awaitFile(name string) {
	r.t.Helper()
	for range 20_000 {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond) // the program tells nobody
	}
	r.t.Fatalf("nobody has made %s", name)
}

// TestWorkCommittedOfPrograms: what an agent program has written in a folder that it shares
// is found whether it tells of its calls or not.
func TestWorkCommittedOfPrograms(t *testing.T) {
	t.Parallel()
	const gates = "defaults: {permission_mode: bypassPermissions, isolation: shared}\ngates: {stop: [{policy: work-committed}]}\n"
	t.Run("acp", func(t *testing.T) {
		r, _ := newFakeRig(t, leadLetsWork, gates+ownedByDev,
			act{When: "not committed", Do: []string{"sneak git add named.txt sneaked.txt && git commit -qm mine -- named.txt sneaked.txt"}},
			act{When: "You own task #1", Do: []string{claims, "sneak echo 1 >sneaked.txt",
				"edit named.txt 1", finishes}})
		g := grove{r}
		testkit.Commit(t, g.dir)
		g.leave("notes.txt")
		g.want(g.run(Options{}), CodeDone, "all work is done")
		g.wantBlamed("?? named.txt\n?? sneaked.txt")
	})
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		g := newGrove(t, map[string]string{
			"team.yaml": strings.Replace(pairSpec, "dev: {model: dev}",
				"dev: {agent: cmd}\nagents: {cmd: {use: command, command: [sh, work.sh]}}", 1) +
				gates,
			"lead.yaml": "steps:\n  - call: [{tool: SendMessage, input: {to: dev, message: Begin.}}]\n" + restOfScript,
			"dev.yaml":  "steps:\n" + restOfScript,
			"work.sh": `case $(cat) in
*"not committed"*) git add own.txt && git commit -qm mine -- own.txt;;
*) echo 1 >own.txt;;
esac
`,
		})
		g.leave("notes.txt")
		g.want(g.run(Options{}), CodeDone, "all work is done")
		g.wantBlamed("?? own.txt")
	})
}

// TestNamesPolicy: a hook or a gate may name one.
func TestNamesPolicy(t *testing.T) {
	t.Parallel()
	policy := hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{{Policy: writes.CommittedPolicy}}}}}
	if !namesPolicy([]settings.Source{{}, {Settings: policy}}, writes.CommittedPolicy) ||
		namesPolicy([]settings.Source{{Settings: policy}}, "x") {
		t.Error("who names a policy is wrong")
	}
}
