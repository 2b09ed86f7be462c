package merging_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// A merge of a stopped team that fails or is cut off makes no working copy and leaves
// none, says so, and is no run of the team.
func TestMergeOfAStoppedTeam(t *testing.T) {
	t.Parallel()
	begun := filepath.Join(t.TempDir(), "begun")
	g := teamtest.NewGrove(t, teamtest.GroveFiles("echo a >a.txt", "true",
		"gates: {merge: ['if test -e "+begun+".hang; then touch "+begun+"; exec sleep 600; fi']}\n"))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	copies := g.Git("worktree list")
	run := func() string {
		data, err := os.ReadFile(g.Place().RunFile())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	last := run()
	check := func(when string) {
		t.Helper()
		if got := run(); got != last {
			t.Errorf("%s, the last run is\n%s\nwant\n%s", when, got, last)
		}
		if got := g.Git("worktree list"); got != copies {
			t.Errorf("%s, the working copies are\n%s\nwant\n%s", when, got, copies)
		}
	}
	if _, err := g.MergeNow(t.Context(), api.MergeRequest{Task: "2"}); err == nil ||
		!strings.Contains(err.Error(), "no finished work of task 2") {
		t.Errorf("a task without work: %v", err)
	}
	check("after a merge of nothing")

	if err := os.WriteFile(begun+".hang", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // ends with ctx at the latest
		for ctx.Err() == nil {
			if _, err := os.Stat(begun); err == nil {
				if r, ok := state.Running(g.Place()); !ok || r.LastRun().Result == nil {
					t.Errorf("while it merges run.json says %+v", r)
				}
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if reply, err := g.MergeNow(ctx, api.MergeRequest{Task: "1"}); err == nil || !strings.Contains(err.Error(),
		"stopped: interrupted") {
		t.Errorf("an interrupted merge: %+v, %v", reply, err)
	}
	check("after an interrupted merge")

	if err := os.Remove(begun + ".hang"); err != nil {
		t.Fatal(err)
	}
	reply, err := g.MergeNow(t.Context(), api.MergeRequest{All: true})
	if err != nil || len(reply.Merges) == 0 || reply.Merges[0].State != tasks.MergeDone {
		t.Fatalf("%+v, %v", reply, err)
	}
	copies = strings.Split(copies, " ")[0]
	if got := g.Git("worktree list"); strings.Contains(got, "\n") || !strings.HasPrefix(got, copies) {
		t.Errorf("once all is merged there is more than the workspace:\n%s", got)
	}
	if got := run(); got != last {
		t.Errorf("after the merge, the last run is\n%s\nwant\n%s", got, last)
	}
}

// A merge of a stopped team that asks a person returns when the hooks that tell of the
// question have ended, and does not cut them off.
func TestMergeWaitsForItsNotices(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles("mkdir -p policy; echo a >policy/a.txt", "true", "protect: [policy/**]\nask_limit: 1h\n"))
	g.Run(orchestrator.Options{})
	var registry hooks.Registry
	var ended, cut atomic.Bool
	if _, err := registry.On(hooks.Notification, "", func(ctx context.Context, _ hooks.Input) (hooks.Answer, error) {
		select {
		case <-ctx.Done():
			cut.Store(true)
		case <-time.After(300 * time.Millisecond): // time for a merge that does not wait to return
		}
		ended.Store(true)
		return hooks.Answer{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.MergeWith(t.Context(), api.MergeRequest{All: true}, &registry); err != nil {
		t.Fatal(err)
	}
	if !ended.Load() || cut.Load() {
		t.Errorf("when the merge returned, the hook had ended: %v, and was cut off: %v", ended.Load(), cut.Load())
	}
}

// What lies in working copies is taken, whoever has none.
func TestMergeAllTakesLooseWork(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("true", "true", "")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "lead: {model: lead}",
		"lead: {model: lead, tools: [Read]}", 1)
	files["ben.yaml"] = "steps:\n  - call: [{tool: Bash, input: {command: 'echo b >b.txt'}}]\n  - {say: fine, times: -1}\n"
	g := teamtest.NewGrove(t, files)
	g.Run(orchestrator.Options{})
	reply, err := g.MergeNow(t.Context(), api.MergeRequest{All: true})
	if err != nil || !slices.ContainsFunc(reply.Merges,
		func(m tasks.Merge) bool { return m.Member == "ben" && m.State == tasks.MergeDone }) {
		t.Fatalf("%+v, %v", reply, err)
	}
	if got := g.Git("show main:b.txt"); got != "b" {
		t.Error(got)
	}
}

// A conflict gives its author one task, however often all work is merged: what lies in the
// working copy is the work that was returned, and no second piece of work.
func TestMergeAllReturnsWorkOnce(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, conflicting(""))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	if _, err := g.MergeNow(t.Context(), api.MergeRequest{All: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.MergeNow(t.Context(), api.MergeRequest{All: true}); err == nil || !strings.Contains(err.Error(), "no finished work waits") {
		t.Errorf("the second time: %v", err)
	}
	if list := g.List(); len(list) != 3 {
		t.Errorf("tasks %+v", list)
	}
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	if got := g.Git("show main:shared.txt"); got != "one\nana\nben\nthree" {
		t.Error(got)
	}
}
