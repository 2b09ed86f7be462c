package workcopies_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
)

// ops lists what happened to working copies in the last run, as "op member".
func ops(g teamtest.Grove) []string {
	var ops []string
	for _, l := range g.Lines.All() {
		if l.Type == "worktree" {
			op, _, _ := strings.Cut(strings.TrimPrefix(string(l.Data), `{"op":"`), `"`)
			ops = append(ops, op+" "+l.Member)
		}
	}
	slices.Sort(ops)
	return ops
}

// warned reports whether people were told of something in the last run.
func warned(g teamtest.Grove, text string) bool {
	return slices.ContainsFunc(teamtest.Of[events.Warning](g.Rig, "warning"), func(w events.Warning) bool {
		return strings.Contains(w.Text, text)
	})
}

// TestWritersDoNotCollide is complaint 5 of TEAMS.md: two members change the same
// line of the same file, and neither the other nor the user sees it.
func TestWritersDoNotCollide(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles(teamtest.CommitIn("ana"), teamtest.CommitIn("ben"), ""))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	if got := g.Read("shared.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("the workspace's file is %q", got)
	}
	if got := g.Git("status --porcelain"); got != "" {
		t.Errorf("the workspace has changed: %s", got)
	}
	for _, name := range []string{"ana", "ben"} {
		if got := g.Git("show covey/crew/" + name + ":shared.txt"); got != "one\n"+name+"\nthree" {
			t.Errorf("%s's branch has %q", name, got)
		}
		if got := testkit.Read(t, g.Tree(name, "shared.txt")); got != "one\n"+name+"\nthree\n" {
			t.Errorf("%s's copy has %q", name, got)
		}
	}
	// The lead could write too, and did not: its copy holds nothing and is gone.
	want := []string{"created ana", "created ben", "created lead", "removed lead"}
	if got := ops(g); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if branches := g.Git("branch --list 'covey/crew/[abl]*' --format='%(refname:short)'"); branches != "covey/crew/ana\ncovey/crew/ben" {
		t.Errorf("branches: %s", branches)
	}
}

// write writes a file of the workspace.
func write(g teamtest.Grove, name, text string) {
	g.T.Helper()
	path := filepath.Join(g.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.T.Fatal(err)
	}
	if err := testkit.WriteProgram(path, []byte(text)); err != nil {
		g.T.Fatal(err)
	}
}

// TestGoesOnInItsCopy: a team that was cut off goes on in the copies that it had,
// with what lay there, and sets nothing up twice.
func TestGoesOnInItsCopy(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("echo draft >draft; sleep 60", "true", "worktree: {setup: [echo x >>setup.log]}\n")
	g := teamtest.NewGrove(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	o := g.Orchestrator(orchestrator.Options{})
	go func() {
		defer close(done)
		if _, err := o.Run(ctx); err != nil {
			t.Log(err)
		}
	}()
	testkit.AwaitFile(t, g.Tree("ana", "draft"), "")
	// A call that is cut off is called again, and ben's script would have gone on by then.
	g.Lines.Wait(t, "ben's task", func(l events.Line) bool {
		return l.Type == "task" && l.Member == "ben" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	cancel()
	<-done
	head := g.Git("rev-parse covey/crew/ana")
	// A killed run may not even have noted the copy down.
	forgetTrees(g)
	// The cut-off call is the script's first step.
	write(g, "ana.yaml", "steps: [{say: no}, {call: [{tool: Bash, input: {command: 'cat draft && git add -A && git commit -qm draft'}}]}, "+
		"{call: [{tool: TaskUpdate, input: {taskId: '1', status: completed}}]}, {say: done, times: -1}]\n")
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	if got := g.Git("log --format=%s main..covey/crew/ana"); got != "draft" ||
		head == g.Git("rev-parse covey/crew/ana") {
		t.Errorf("ana's branch has %q", got)
	}
	if slices.Contains(ops(g), "created ana") {
		t.Errorf("%q", ops(g))
	}
	if got := testkit.Read(t, g.Tree("ana", "setup.log")); got != "x\nx\n" && got != "x\n" { // once more only because the note was lost
		t.Errorf("set up as %q", got)
	}
}

// forgetTrees takes what the store knows of working copies.
func forgetTrees(g teamtest.Grove) {
	g.T.Helper()
	store, err := tasks.Open(g.Place().Store(), &tasks.Options{BlobDir: g.Place().Blobs()})
	if err != nil {
		g.T.Fatal(err)
	}
	defer store.Close()
	if err := store.Put(g.T.Context(), "worktrees", texts.Encode(map[string]workcopies.Tree{})); err != nil {
		g.T.Fatal(err)
	}
}

// TestForeignBranch: a branch of a member's name that this team has not made is somebody's.
// It is not merged as work on a task, nor removed, however often the team runs.
func TestForeignBranch(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles(teamtest.CommitIn("ana"), "true", "merge: {into: main}\n"))
	g.Git("checkout -q -b covey/crew/ana; echo mine >mine; git add mine; git commit -qm mine; git checkout -q main")
	g.Git("branch covey/crew/ben") // and one that holds nothing of its own
	was := g.Git("rev-parse covey/crew/ana covey/crew/ben")
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	other := "covey/" + filepath.Base(g.Place().Dir) + "/ana"
	if text := "branch covey/crew/ana of " + g.Git("rev-parse --show-toplevel") + " was not created by this team"; !warned(g, text) || !warned(g, "ana works on "+other) {
		t.Errorf("nobody was told that %s", text)
	}
	write(g, "team.yaml", strings.Replace(g.Read("team.yaml"), "Ship it.", "Ship it again.", 1))
	g.Want(g.Run(orchestrator.Options{}), 0, "")
	g.Want(g.Run(orchestrator.Options{Fresh: true}), 0, "")
	if got := g.Git("rev-parse covey/crew/ana covey/crew/ben"); got != was {
		t.Errorf("the branches are at %s and were at %s", got, was)
	}
	if got := g.Git("log --format=%s main"); strings.Contains(got, "mine") || !strings.Contains(got, "ana") {
		t.Errorf("main has\n%s", got)
	}
}
