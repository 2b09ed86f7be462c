package orchestrator

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
)

// grove is a team of a lead, ana and ben in a git repository. What ana and ben do,
// and more keys of the spec, are the test's.
type grove struct{ *rig }

// groveFiles are the files of a grove. ana and ben run one command each and complete
// their task.
func groveFiles(ana, ben, more string) map[string]string {
	worker := func(task, command string) string {
		return `steps:
  - call: [{tool: Bash, input: {command: ` + yamlText(command) + `}}]
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

// yamlText quotes a text for YAML.
func yamlText(text string) string { return `'` + strings.ReplaceAll(text, "'", "''") + `'` }

func newGrove(t *testing.T, files map[string]string) grove {
	t.Helper()
	g := grove{newRig(t, files)}
	testkit.Commit(t, g.dir)
	return g
}

// git runs "git ARGS" in the workspace through a shell and returns what it printed.
func (g grove) git(args string) string {
	g.t.Helper()
	cmd := exec.CommandContext(g.t.Context(), "/bin/sh", "-ec", "git "+args)
	cmd.Dir = g.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tree is a path in a member's working copy.
func (g grove) tree(elem ...string) string {
	return filepath.Join(append([]string{g.place().Worktrees()}, elem...)...)
}

// ops lists what happened to working copies in the last run, as "op member".
func (g grove) ops() []string {
	var ops []string
	for _, l := range g.lines.All() {
		if l.Type == "worktree" {
			op, _, _ := strings.Cut(strings.TrimPrefix(string(l.Data), `{"op":"`), `"`)
			ops = append(ops, op+" "+l.Member)
		}
	}
	slices.Sort(ops)
	return ops
}

// warned reports whether people were told of something in the last run.
func (g grove) warned(text string) bool {
	return slices.ContainsFunc(of[events.Warning](g.rig, "warning"), func(w events.Warning) bool {
		return strings.Contains(w.Text, text)
	})
}

// commitIn is a command that changes the shared file and commits it.
func commitIn(word string) string {
	return "sed -i 's/two/" + word + "/' shared.txt && git commit -qam " + word + " && pwd"
}

// TestWritersDoNotCollide is complaint 5 of TEAMS.md: two members change the same
// line of the same file, and neither the other nor the user sees it.
func TestWritersDoNotCollide(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles(commitIn("ana"), commitIn("ben"), ""))
	g.want(g.run(Options{}), 0, "all work is done")
	if got := g.read("shared.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("the workspace's file is %q", got)
	}
	if got := g.git("status --porcelain"); got != "" {
		t.Errorf("the workspace has changed: %s", got)
	}
	for _, name := range []string{"ana", "ben"} {
		if got := g.git("show covey/crew/" + name + ":shared.txt"); got != "one\n"+name+"\nthree" {
			t.Errorf("%s's branch has %q", name, got)
		}
		if got := testkit.Read(t, g.tree(name, "shared.txt")); got != "one\n"+name+"\nthree\n" {
			t.Errorf("%s's copy has %q", name, got)
		}
	}
	// The lead could write too, and did not: its copy holds nothing and is gone.
	want := []string{"created ana", "created ben", "created lead", "removed lead"}
	if got := g.ops(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if branches := g.git("branch --list 'covey/crew/[abl]*' --format='%(refname:short)'"); branches != "covey/crew/ana\ncovey/crew/ben" {
		t.Errorf("branches: %s", branches)
	}
}

// write writes a file of the workspace.
func (g grove) write(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := testkit.WriteProgram(path, []byte(text)); err != nil {
		g.t.Fatal(err)
	}
}

// real is a path without links.
func real(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGoesOnInItsCopy: a team that was cut off goes on in the copies that it had,
// with what lay there, and sets nothing up twice.
func TestGoesOnInItsCopy(t *testing.T) {
	t.Parallel()
	files := groveFiles("echo draft >draft; sleep 60", "true", "worktree: {setup: [echo x >>setup.log]}\n")
	g := newGrove(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	o := g.orchestrator(Options{})
	go func() {
		defer close(done)
		if _, err := o.Run(ctx); err != nil {
			t.Log(err)
		}
	}()
	testkit.AwaitFile(t, g.tree("ana", "draft"), "")
	// A call that is cut off is called again, and ben's script would have gone on by then.
	g.lines.Wait(t, "ben's task", func(l events.Line) bool {
		return l.Type == "task" && l.Member == "ben" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	cancel()
	<-done
	head := g.git("rev-parse covey/crew/ana")
	// A killed run may not even have noted the copy down.
	g.forgetTrees()
	// The cut-off call is the script's first step.
	g.write("ana.yaml", "steps: [{say: no}, {call: [{tool: Bash, input: {command: 'cat draft && git add -A && git commit -qm draft'}}]}, "+
		"{call: [{tool: TaskUpdate, input: {taskId: '1', status: completed}}]}, {say: done, times: -1}]\n")
	g.want(g.run(Options{}), 0, "all work is done")
	if got := g.git("log --format=%s main..covey/crew/ana"); got != "draft" ||
		head == g.git("rev-parse covey/crew/ana") {
		t.Errorf("ana's branch has %q", got)
	}
	if slices.Contains(g.ops(), "created ana") {
		t.Errorf("%q", g.ops())
	}
	if got := testkit.Read(t, g.tree("ana", "setup.log")); got != "x\nx\n" && got != "x\n" { // once more only because the note was lost
		t.Errorf("set up as %q", got)
	}
}

// forgetTrees takes what the store knows of working copies.
func (g grove) forgetTrees() {
	g.t.Helper()
	store, err := tasks.Open(g.place().Store(), &tasks.Options{BlobDir: g.place().Blobs()})
	if err != nil {
		g.t.Fatal(err)
	}
	defer store.Close()
	if err := store.Put(g.t.Context(), "worktrees", texts.Encode(map[string]workcopies.Tree{})); err != nil {
		g.t.Fatal(err)
	}
}

// TestForeignBranch: a branch of a member's name that this team has not made is somebody's.
// It is not merged as work on a task, nor removed, however often the team runs.
func TestForeignBranch(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles(commitIn("ana"), "true", "merge: {into: main}\n"))
	g.git("checkout -q -b covey/crew/ana; echo mine >mine; git add mine; git commit -qm mine; git checkout -q main")
	g.git("branch covey/crew/ben") // and one that holds nothing of its own
	was := g.git("rev-parse covey/crew/ana covey/crew/ben")
	g.want(g.run(Options{}), 0, "all work is done")
	other := "covey/" + filepath.Base(g.place().Dir) + "/ana"
	if text := "branch covey/crew/ana of " + g.git("rev-parse --show-toplevel") + " was not created by this team"; !g.warned(text) || !g.warned("ana works on "+other) {
		t.Errorf("nobody was told that %s", text)
	}
	g.write("team.yaml", strings.Replace(g.read("team.yaml"), "Ship it.", "Ship it again.", 1))
	g.want(g.run(Options{}), 0, "")
	g.want(g.run(Options{Fresh: true}), 0, "")
	if got := g.git("rev-parse covey/crew/ana covey/crew/ben"); got != was {
		t.Errorf("the branches are at %s and were at %s", got, was)
	}
	if got := g.git("log --format=%s main"); strings.Contains(got, "mine") || !strings.Contains(got, "ana") {
		t.Errorf("main has\n%s", got)
	}
}
