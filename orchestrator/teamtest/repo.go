package teamtest

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
)

// MergeNow is `covey merge` of the team while it does not run.
func (g Grove) MergeNow(ctx context.Context, r api.MergeRequest) (api.MergeReply, error) {
	g.T.Helper()
	return g.MergeWith(ctx, r, nil)
}

// MergeWith is mergeNow with hooks of the program.
func (g Grove) MergeWith(ctx context.Context, r api.MergeRequest, registry *hooks.Registry) (api.MergeReply, error) {
	g.T.Helper()
	team, err := configs.Load(filepath.Join(g.Dir, "team.yaml"))
	if err != nil {
		g.T.Fatal(err)
	}
	o, err := orchestrator.New(team, orchestrator.Options{StateHome: g.Home, Hooks: registry})
	if err != nil {
		g.T.Fatal(err)
	}
	return o.Merge(ctx, r)
}

// Merged are the states of the merges that the last run has left, by branch.
func (g Grove) Merged() map[string]tasks.Merge {
	g.T.Helper()
	p := g.Place()
	store, err := tasks.Open(p.Store(), &tasks.Options{ReadOnly: true, BlobDir: p.Blobs()})
	if err != nil {
		g.T.Fatal(err)
	}
	defer store.Close()
	list, err := store.Merges().List(g.T.Context())
	if err != nil {
		g.T.Fatal(err)
	}
	all := map[string]tasks.Merge{}
	for _, m := range list {
		all[m.Branch] = m
	}
	return all
}

// WantMerged fails the test unless these branches, and no others, are in these states.
func (g Grove) WantMerged(want map[string]tasks.MergeState) {
	g.T.Helper()
	got := g.Merged()
	for branch, m := range got {
		if want[branch] != m.State {
			g.T.Errorf("%s is %s, want %q: %+v", branch, m.State, want[branch], m)
		}
	}
	if len(got) != len(want) {
		g.T.Errorf("%d merges, want %d: %+v", len(got), len(want), got)
	}
}

// Grove is a team of a lead, ana and ben in a git repository. What ana and ben do,
// and more keys of the spec, are the test's.
type Grove struct{ *Rig }

// GroveFiles are the files of a grove. ana and ben run one command each and complete
// their task.
func GroveFiles(ana, ben, more string) map[string]string {
	worker := func(task, command string) string {
		return `steps:
  - call: [{tool: Bash, input: {command: ` + YAMLText(command) + `}}]
  - call: [{tool: TaskUpdate, input: {taskId: "` + task + `", status: completed}}]
  - {say: done, times: -1}
`
	}
	spec := `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
  ana: {provider: script, script: ana.yaml}
  ben: {provider: script, script: ben.yaml}
defaults: {permission_mode: bypassPermissions, self_claim: false}
lead: {model: lead}
teammates:
  ana: {model: ana}
  ben: {model: ben}
tasks: [{id: a, subject: A, owner: ana}, {id: b, subject: B, owner: ben}]
`
	return map[string]string{
		"team.yaml": spec + more, "lead.yaml": "steps: [{say: fine, times: -1}]\n",
		"ana.yaml": worker("1", ana), "ben.yaml": worker("2", ben),
		"shared.txt": "one\ntwo\nthree\n", ".gitignore": "*.log\n.env\n",
	}
}

// YAMLText quotes a text for YAML.
func YAMLText(text string) string { return `'` + strings.ReplaceAll(text, "'", "''") + `'` }

func NewGrove(t *testing.T, files map[string]string) Grove {
	t.Helper()
	g := Grove{NewRig(t, files)}
	testkit.Commit(t, g.Dir)
	return g
}

// Git runs "git ARGS" in the workspace through a shell and returns what it printed.
func (g Grove) Git(args string) string {
	g.T.Helper()
	cmd := exec.CommandContext(g.T.Context(), "/bin/sh", "-ec", "git "+args)
	cmd.Dir = g.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.T.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Tree is a path in a member's working copy.
func (g Grove) Tree(elem ...string) string {
	return filepath.Join(append([]string{g.Place().Worktrees()}, elem...)...)
}

// CommitIn is a command that changes the shared file and commits it.
func CommitIn(word string) string {
	return "sed -i 's/two/" + word + "/' shared.txt && git commit -qam " + word + " && pwd"
}

// RealPath is a path without links.
func RealPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
