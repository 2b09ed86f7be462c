package writes_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// shell is a step with a command.
func shell(command string) string {
	return "  - call: [{tool: Bash, input: {command: " + teamtest.YAMLText(command) + "}}]\n"
}

// writes is a step with a call that writes a file.
func writes(file string) string {
	return "  - call: [{tool: Write, input: {file_path: " + file + ", content: text}}]\n"
}

const restOfScript = "  - {say: done, times: -1}\n"

// wantBlamed checks what the gates said, in order: a list of lines of git's status each.
func wantBlamed(r *teamtest.Rig, want ...string) {
	r.T.Helper()
	var got []string
	for _, text := range r.Feedbacks() {
		_, list, ok := strings.Cut(text, "not committed:\n")
		list, _, end := strings.Cut(list, "\nCommit what belongs to your task")
		if !ok || !end {
			r.T.Errorf("the policy says %q", text)
		}
		got = append(got, list)
	}
	if !slices.Equal(got, want) {
		r.T.Errorf("blamed for %q, want %q\n%s", got, want, teamtest.Show(r.Lines.All()))
	}
}

// leave puts files into the workspace that nobody has committed.
func leave(r *teamtest.Rig, names ...string) {
	r.T.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte("a person's\n"), 0o600); err != nil {
			r.T.Fatal(err)
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
	g := teamtest.NewGrove(t, map[string]string{
		"team.yaml": testkit.PairSpec + "defaults: {permission_mode: bypassPermissions}\ngates: {stop: [{policy: work-committed}]}\n",
		"lead.yaml": "steps:\n" + writes("lead.txt") + "  - {say: That is it.}\n" + thenCommits("lead.txt") + restOfScript,
		"dev.yaml":  "steps: [{say: fine, times: -1}]\n", "a.txt": "a\n",
	})
	leave(g.Rig, "a.txt", "notes.txt")
	g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	wantBlamed(g.Rig, "?? lead.txt")
	if got := g.Git("status --porcelain"); got != "M a.txt\n?? notes.txt" {
		t.Errorf("left %q", got)
	}
}

// TestWorkCommittedInACopy: what worktree.setup leaves in a member's working copy is not
// the member's.
func TestWorkCommittedInACopy(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, map[string]string{
		"team.yaml": testkit.PairSpec + "defaults: {permission_mode: bypassPermissions}\nworktree: {setup: [touch left.txt]}\n" +
			"gates: {task: [{policy: work-committed}]}\ntasks: [{id: a, subject: A, owner: dev}]\n",
		"lead.yaml": teamtest.LeadLetsWork,
		"dev.yaml":  "steps:\n" + shell("echo 1 >own.txt") + completesOne + thenCommits("own.txt") + completesOne + restOfScript,
	})
	g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	wantBlamed(g.Rig, "?? own.txt")
	if _, err := os.Stat(g.Tree("dev", "left.txt")); err != nil {
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
			g := teamtest.NewGrove(t, map[string]string{
				"team.yaml": strings.Replace(testkit.PairSpec, "dev: {model: dev}",
					"dev: {model: dev, isolation: "+isolation+"}", 1) +
					"defaults: {permission_mode: bypassPermissions}\ngates: {task: [{policy: work-committed}]}\n" + teamtest.OwnedByDev,
				"lead.yaml": teamtest.LeadLetsWork, ".gitignore": "*.log\n",
				"dev.yaml": "steps:\n" + writes("own.txt") + shell(wait) + completesOne + thenCommits("own.txt") +
					completesOne + restOfScript,
			})
			leave(g.Rig, "notes.txt")
			if g.RunAndKill(1, func() { testkit.AwaitFile(t, filepath.Join(g.Dir, "ready.log"), "") }) {
				t.Fatal("the team ended before it was killed")
			}
			leave(g.Rig, "go.log")
			g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
			wantBlamed(g.Rig, "?? own.txt")
		})
	}
}
