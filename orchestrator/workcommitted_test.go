package orchestrator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/testkit"
)

// wantBlamed checks what the gates said, in order: a list of lines of git's status each.
func (r *rig) wantBlamed(want ...string) {
	r.t.Helper()
	var got []string
	for _, text := range r.feedbacks() {
		_, list, ok := strings.Cut(text, "not committed:\n")
		list, _, end := strings.Cut(list, "\nCommit what belongs to your task")
		if !ok || !end {
			r.t.Errorf("the policy says %q", text)
		}
		got = append(got, list)
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
		"team.yaml": testkit.PairSpec + "defaults: {permission_mode: bypassPermissions}\ngates: {stop: [{policy: work-committed}]}\n",
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
		"team.yaml": testkit.PairSpec + "defaults: {permission_mode: bypassPermissions}\nworktree: {setup: [touch left.txt]}\n" +
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
				"team.yaml": strings.Replace(testkit.PairSpec, "dev: {model: dev}",
					"dev: {model: dev, isolation: "+isolation+"}", 1) +
					"defaults: {permission_mode: bypassPermissions}\ngates: {task: [{policy: work-committed}]}\n" + ownedByDev,
				"lead.yaml": leadLetsWork, ".gitignore": "*.log\n",
				"dev.yaml": "steps:\n" + shell("echo 1 >own.txt") + shell(wait) + completesOne + thenCommits("own.txt") +
					completesOne + restOfScript,
			})
			g.leave("notes.txt")
			if g.runAndKill(1, func() { testkit.AwaitFile(t, filepath.Join(g.dir, "ready.log"), "") }) {
				t.Fatal("the team ended before it was killed")
			}
			g.leave("go.log")
			g.want(g.run(Options{}), CodeDone, "all work is done")
			g.wantBlamed("?? own.txt")
		})
	}
}

const sharedWork = "defaults: {permission_mode: bypassPermissions, isolation: shared}\ngates: {stop: [{policy: work-committed}]}\n"

// TestWorkCommittedOfAProgram: what an agent program has written in a folder that it shares
// is found whether it tells of its calls or not.
func TestWorkCommittedOfAProgram(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, leadLetsWork, sharedWork+ownedByDev,
		act{When: "not committed", Do: []string{"sneak git add named.txt sneaked.txt && git commit -qm mine -- named.txt sneaked.txt"}},
		act{When: "You own task #1", Do: []string{claims, "sneak echo 1 >sneaked.txt",
			"edit named.txt 1", finishes}})
	testkit.Commit(t, r.dir)
	testkit.Put(t, r.dir, "notes.txt", "a person's\n")
	r.want(r.run(Options{}), CodeDone, "all work is done")
	if said := r.feedbacks(); len(said) != 1 || !strings.Contains(said[0], "not committed:\n?? named.txt\n?? sneaked.txt\nCommit") {
		t.Errorf("the policy said %q", said)
	}
}

// TestWorkCommittedOfACommand: and what one has written that is run once for each prompt.
func TestWorkCommittedOfACommand(t *testing.T) {
	t.Parallel()
	g := newGrove(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "dev: {model: dev}",
			"dev: {agent: cmd}\nagents: {cmd: {use: command, command: [sh, work.sh]}}", 1) + sharedWork,
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
}
