package writes_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// owning has ana own docs alone, and do what the steps say.
func owning(steps, more string) map[string]string {
	files := teamtest.GroveFiles("true", "true", more)
	files["team.yaml"] = strings.NewReplacer(
		"ana: {model: ana}", "ana: {model: ana, owns: [docs/**]}", ", {id: b, subject: B, owner: ben}", "",
	).Replace(files["team.yaml"])
	files["docs/a.md"], files["main.go"], files["ana.yaml"] = "a\n", "package main\n", "steps:\n"+steps
	return files
}

const completesOne = `  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
`

// A call that would write to what is not its own is refused before it runs, also by
// a link and by a path that goes up again.
func TestCallsOutsideAreRefused(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, owning(`  - call:
      - {tool: Write, input: {file_path: docs/b.md, content: b}}
      - {tool: Write, input: {file_path: main.go, content: x}}
      - {tool: Write, input: {file_path: docs/../other.go, content: x}}
      - {tool: Bash, input: {command: ln -s .. docs/up}}
      - {tool: Write, input: {file_path: docs/up/third.go, content: x}}
      - {tool: Bash, input: {command: rm docs/up}}
`+completesOne+"  - {say: done, times: -1}\n", "merge: {into: main}\n"))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	var refused []string
	for _, p := range teamtest.Of[events.PermissionDecided](g.Rig, "permission") {
		if p.Decision == "deny" {
			refused = append(refused, p.Tool+" by "+p.Rule)
		}
	}
	if got := strings.Join(refused, ", "); got != "Write by owns, Write by owns, Write by owns" {
		t.Errorf("refused: %s\n%s", got, teamtest.Show(g.Lines.All()))
	}
	if got := g.Git("ls-files docs *.go"); got != "docs/a.md\ndocs/b.md\nmain.go" {
		t.Errorf("merged: %s", got)
	}
}

// A shell asks nobody; what it has written is found at the turn end, and at the
// completion of the task, with the way back.
func TestWritesOutsideAreRefused(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, owning(`  - when: "files that are not yours"
    call: [{tool: Bash, input: {command: "git checkout -q $(git merge-base HEAD main) -- main.go; git rm -qf --cached new.go; rm new.go; git commit -qm back"}}]
  - call: [{tool: Bash, input: {command: "echo 2 >docs/a.md; echo 2 >main.go; echo n >new.go; git add -A; git commit -qm all"}}]
`+completesOne+completesOne+"  - {say: done, times: -1}\n", "merge: {into: main}\n"))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	g.WantMerged(map[string]tasks.MergeState{"covey/crew/task_1": tasks.MergeDone})
	if got := g.Git("show main:docs/a.md main:main.go"); got != "2\npackage main" {
		t.Errorf("main has %s", got)
	}
	changes := teamtest.Of[tasks.Change](g.Rig, "task")
	refused := 0
	for _, c := range changes {
		if c.Op == tasks.Refused && strings.Contains(c.Reason, "- main.go\n- new.go") {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("refused %d times:\n%s", refused, teamtest.Show(g.Lines.All()))
	}
}

// In the workspace itself protected files take a person's word, and there is nobody.
func TestProtectedInTheWorkspace(t *testing.T) {
	t.Parallel()
	files := owning(`  - call:
      - {tool: Write, input: {file_path: docs/p/x, content: x}}
      - {tool: Write, input: {file_path: docs/q, content: x}}
`+completesOne+"  - {say: done, times: -1}\n", "protect: [docs/p/**]\n")
	files["team.yaml"] = strings.ReplaceAll(files["team.yaml"],
		"{permission_mode: bypassPermissions", "{isolation: shared, permission_mode: bypassPermissions")
	g := teamtest.NewGrove(t, files)
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	if got := g.Git("status --porcelain -uall"); got != "?? docs/q" {
		t.Errorf("the workspace: %s\n%s", got, teamtest.Show(g.Lines.All()))
	}
}

// In a working copy of its own a member may change them; a person is asked before
// they are merged.
func TestProtectedInAWorktree(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, owning(`  - call: [{tool: Write, input: {file_path: docs/p/x, content: x}}]
`+completesOne+"  - {say: done, times: -1}\n", "merge: {into: main}\nprotect: [docs/p/**]\non_ask: wait\n"))
	u := teamtest.Start(g.Rig, &teamtest.HandClock{}) // its clock stands, so the question stays open
	u.Lines.Wait(t, "the question", func(l events.Line) bool {
		return l.Type == "merge" && strings.Contains(string(l.Data), `"state":"held"`)
	})
	u.Stop(errors.New("enough"))
	g.Want(u.End(), orchestrator.CodeInterrupted, "")
	m := g.Merged()["covey/crew/task_1"]
	if m.State != tasks.MergeHeld || m.Asked == "" || len(m.Files) != 1 || m.Files[0] != "docs/p/x" {
		t.Errorf("%+v", m)
	}
	p := g.Place()
	// Another test that starts a program at this moment has the store's lock until the program runs.
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), LockTimeout: testkit.Patience})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Requests().Answer(t.Context(), actors.Actor{Name: actors.Operator}, m.Asked,
		requests.Ruling{Approve: true})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.Want(g.Run(orchestrator.Options{}), 0, "")
	if got := testkit.Read(t, filepath.Join(g.Dir, "docs/p/x")); got != "x" {
		t.Errorf("it was approved, and the file is %q", got)
	}
}
