package merging_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

func TestFinishedWorkIsMerged(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles("echo a >a.txt", "echo b >b.txt; git add b.txt; git commit -qm b",
		"merge: {into: main}\ngates: {merge: [test -f shared.txt]}\n"))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	g.WantMerged(map[string]tasks.MergeState{
		"covey/crew/task_1": tasks.MergeDone, "covey/crew/task_2": tasks.MergeDone,
	})
	if got := g.Git("status --porcelain; cat a.txt b.txt; git branch --list 'covey/*/task_*'"); got != "a\nb" {
		t.Errorf("%s", got)
	}
	if got := g.Git("worktree list"); strings.Contains(got, "\n") {
		t.Errorf("more than the workspace is left:\n%s", got)
	}
	if lines := teamtest.Of[tasks.Merge](g.Rig, "merge"); len(lines) < 6 {
		t.Errorf("the journal tells %d times of merges", len(lines))
	}
	if !slices.ContainsFunc(g.Lines.All(), func(l events.Line) bool {
		return l.Type == "hook_finished" && strings.Contains(string(l.Data), "test -f shared.txt")
	}) {
		t.Error("the journal does not tell of the gate")
	}
}

func TestWorkWaitsUnasked(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles("echo a >a.txt", "true", ""))
	e := g.Run(orchestrator.Options{})
	g.Want(e, 0, "all work is done")
	g.WantMerged(map[string]tasks.MergeState{"covey/crew/task_1": tasks.MergeWaiting})
	// Who has changed nothing is told of, once.
	if list := teamtest.Of[events.TaskUnchanged](g.Rig, "task_unchanged"); len(list) != 1 || list[0].Task != "2" {
		t.Errorf("without a change: %+v", list)
	}
	p := g.Place()
	store, err := tasks.Open(p.Store(), &tasks.Options{ReadOnly: true, BlobDir: p.Blobs()})
	if err != nil {
		t.Fatal(err)
	}
	one, err1 := merging.StandingOf(t.Context(), store, "1")
	two, err2 := merging.StandingOf(t.Context(), store, "2")
	all, err3 := store.List(t.Context())
	if err := errors.Join(err1, err2, err3, store.Close()); err != nil {
		t.Fatal(err)
	}
	if all[0].Unchanged || len(one.Merges) != 1 || !all[1].Unchanged || len(two.Merges) != 0 {
		t.Errorf("they stand as %+v and %+v", one, two)
	}
	if len(e.Unmerged) != 1 || e.Unmerged[0] != "task 1 (A) of ana (covey/crew/task_1) is not merged" {
		t.Errorf("%q", e.Unmerged)
	}
	if _, err := os.Stat(filepath.Join(g.Dir, "a.txt")); err == nil {
		t.Error("it was merged unasked")
	}
}

// conflicting has ben resolve the conflict that he gets back.
func conflicting(more string) map[string]string {
	files := teamtest.GroveFiles(teamtest.CommitIn("ana"), teamtest.CommitIn("ben"), more)
	files["ben.yaml"] = `steps:
  - when: Resolve the merge conflict
    call:
      - {tool: TaskUpdate, input: {taskId: "3", status: in_progress}}
      - {tool: Bash, input: {command: "git merge -q main; printf 'one\nana\nben\nthree\n' >shared.txt; git commit -qam both"}}
      - {tool: TaskUpdate, input: {taskId: "3", status: completed}}
    times: -1
` + strings.TrimPrefix(files["ben.yaml"], "steps:\n")
	files["ana.yaml"] = strings.ReplaceAll(files["ben.yaml"], `"2"`, `"1"`)
	files["ana.yaml"] = strings.ReplaceAll(files["ana.yaml"], "/ben/", "/ana/")
	files["ana.yaml"] = strings.ReplaceAll(files["ana.yaml"], "-qam ben ", "-qam ana ")
	return files
}

func TestConflictBecomesATask(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, conflicting("merge: {into: main}\n"))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	for branch, m := range g.Merged() {
		if m.State != tasks.MergeDone {
			t.Errorf("%s: %+v", branch, m)
		}
	}
	if got := g.Git("status --porcelain; cat shared.txt"); got != "one\nana\nben\nthree" {
		t.Errorf("%s", got)
	}
	if list := g.List(); len(list) != 3 || !strings.HasPrefix(list[2].Subject,
		"Resolve the merge conflict of task ") {
		t.Errorf("%+v", list)
	}
}

// A gate that has said yes to a tree is not asked about it again: not at the turn
// end, and not about the merged state, if that is the same.
func TestVerdictsAreReused(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "runs")
	files := teamtest.GroveFiles("echo a >a.txt", "true", "merge: {into: main}\ngates: {task: [echo ran >>"+count+"]}\n")
	files["ana.yaml"] = `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}, {tool: Bash, input: {command: echo a >a.txt}}]
  - say: I think that is it.
  - when: "#1"
    call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: done, times: -1}
`
	files["team.yaml"] = strings.Replace(files["team.yaml"], ", {id: b, subject: B, owner: ben}", "", 1)
	g := teamtest.NewGrove(t, files)
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	data, err := os.ReadFile(count)
	if err != nil || string(data) != "ran\n" {
		t.Errorf("the gate ran: %q, %v\n%s", data, err, teamtest.Show(g.Lines.All()))
	}
	reused := teamtest.Of[events.VerdictReused](g.Rig, "verdict_reused")
	if len(reused) != 2 || reused[0].Task != "1" {
		t.Errorf("%+v", reused)
	}
	// The journal says which files each of the three gates judged, and that one of them ran.
	g.WantGates("ana", "TaskCompleted turn_end 1 agreed", "TaskCompleted tool 1 agreed", "TaskCompleted merge  agreed")
	judged := teamtest.Of[events.VerdictFound](g.Rig, "verdict")
	if len(judged) != 1 || judged[0].Task != "1" || !judged[0].Pass || judged[0].Moment != "task" {
		t.Fatalf("verdicts %+v", judged)
	}
	for i, gate := range g.Facts().Gates {
		if h := gate.Hooks[0]; h.Tree != judged[0].Tree || h.Reused != (i > 0) {
			t.Errorf("gate %d judged %+v, want the tree %s", i, h, judged[0].Tree)
		}
	}
}

// TestMemberCannotEditItsGate: what a member commits to its branch is not what judges
// it, at its task and at the merge.
func TestMemberCannotEditItsGate(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("printf '#!/bin/sh\\nexit 0\\n' >policy/gate.sh; git commit -qam lenient", "true",
		"merge: {into: main}\ngates: {task: [./policy/gate.sh]}\n")
	files["policy/gate.sh"] = "#!/bin/sh\n! test -e .git || ! git log -1 --format=%s | grep -q lenient\n"
	files["team.yaml"] = strings.Replace(files["team.yaml"], ", {id: b, subject: B, owner: ben}", "", 1)
	g := teamtest.NewGrove(t, files)
	if e := g.Run(orchestrator.Options{}); e.Code == 0 {
		t.Errorf("the member's own gate let it go: %+v\n%s", e, teamtest.Show(g.Lines.All()))
	}
	if len(g.Merged()) != 0 {
		t.Errorf("%+v", g.Merged())
	}
}

// Work on tasks that wait for others begins with what those have made.
func TestDependentsSeeTheWork(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"merge: {into: main}\n", ""} {
		files := teamtest.GroveFiles("echo a >a.txt", "cat a.txt && echo b >>a.txt", more)
		files["team.yaml"] = strings.Replace(files["team.yaml"],
			"{id: b, subject: B, owner: ben}", "{id: b, subject: B, owner: ben, blocked_by: [a]}", 1)
		g := teamtest.NewGrove(t, files)
		g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
		if got := g.Git("show covey/crew/task_2:a.txt 2>/dev/null || cat a.txt"); got != "a\nb" {
			t.Errorf("with %q ben has %q\n%s", more, got, teamtest.Show(g.Lines.All()))
		}
	}
}

// A team that is ended while a gate looks at a merge goes on with it when it is
// started again.
func TestMergeIsResumed(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "may")
	g := teamtest.NewGrove(t, teamtest.GroveFiles("echo a >a.txt", "true",
		"merge: {into: main}\ngates: {merge: [\"touch "+gate+".asked; while ! test -e "+gate+"; do sleep 0.02; done\"]}\n"))
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	o := g.Orchestrator(orchestrator.Options{})
	ended := make(chan error, 1)
	go func() { _, err := o.Run(ctx); ended <- err }()
	g.Lines.Wait(t, "the merge's gate", func(l events.Line) bool {
		return l.Type == "hook_started" && strings.Contains(string(l.Data), ".asked")
	})
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	g.WantMerged(map[string]tasks.MergeState{"covey/crew/task_1": tasks.MergeTesting})
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	g.WantMerged(map[string]tasks.MergeState{"covey/crew/task_1": tasks.MergeDone})
}

func TestHeldWorkIsAProblem(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles("echo a >>shared.txt", "true", "merge: {into: main}\n"))
	g.Git("status >/dev/null; echo mine >>shared.txt")
	e := g.Run(orchestrator.Options{})
	g.Want(e, 1, "has uncommitted changes in shared.txt")
	if got := testkit.Read(t, filepath.Join(g.Dir, "shared.txt")); got != "one\ntwo\nthree\nmine\n" {
		t.Errorf("the user's file is %q", got)
	}
	g.Git("checkout -q shared.txt")
	g.Want(g.Run(orchestrator.Options{}), 0, "")
	if got := testkit.Read(t, filepath.Join(g.Dir, "shared.txt")); got != "one\ntwo\nthree\na\n" {
		t.Errorf("the user's file is %q", got)
	}
}

func TestReviewAndMergeOnRequest(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles("echo a >a.txt",
		"mkdir -p policy; echo b >policy/b.txt; echo z >>shared.txt; git add -A; git commit -qm b",
		"protect: [policy/**]\n"))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	team, err := configs.Load(filepath.Join(g.Dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g.Git("status >/dev/null; sed -i 's/three/four/' shared.txt; git commit -qam person")
	reply, err := merging.ReadReview(t.Context(), g.Place(), team, api.ReviewRequest{})
	if err != nil || len(reply.Reviews) != 2 {
		t.Fatalf("%+v, %v", reply, err)
	}
	// Who of the two was done first is chance.
	second := reply.Reviews[slices.IndexFunc(reply.Reviews, func(r api.Review) bool { return r.Member == "ben" })]
	if !slices.Equal(second.Conflicts, []string{"shared.txt"}) {
		t.Errorf("%+v", second)
	}
	one, err := merging.ReadReview(t.Context(), g.Place(), team, api.ReviewRequest{Task: "1"})
	if err != nil || len(one.Reviews) != 1 || !slices.Equal(one.Reviews[0].Changes, []string{"a.txt"}) {
		t.Errorf("%+v, %v", one, err)
	}
}

// TestWorkThatNobodyTakesDown: where the workspace leaves its branch while the team works,
// finished work has nowhere to go. That is no end as if all were well.
func TestWorkThatNobodyTakesDown(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles(`git -C "$COVEY_WORKSPACE" checkout -q --detach; echo a >a.txt`, "true",
		"merge: {via: branch}\n"))
	end := g.Run(orchestrator.Options{})
	g.Want(end, orchestrator.CodeUnfinished, "")
	if !slices.ContainsFunc(end.Problems, func(p string) bool {
		return strings.Contains(p,
			"the work on task 1 is not harvested")
	}) {
		t.Errorf("the problems are %q", end.Problems)
	}
	if !slices.ContainsFunc(end.Unmerged, func(p string) bool { return strings.Contains(p, "on no branch") }) {
		t.Errorf("not merged is %q", end.Unmerged)
	}
}

// protectedWork is a team whose one member changes a protected file.
func protectedWork(t *testing.T, more string) teamtest.Grove {
	files := teamtest.GroveFiles("mkdir -p policy; echo a >policy/a.txt", "test -f policy/a.txt && echo b >b.txt",
		"merge: {into: main}\nprotect: [policy/**]\nask_limit: 1h\n"+more)
	files["team.yaml"] = strings.Replace(files["team.yaml"], ", {id: b, subject: B, owner: ben}",
		", {id: b, subject: B, owner: ben, blocked_by: [a]}", 1)
	return teamtest.NewGrove(t, files)
}

// TestProtectedWorkWaits: a merge of protected files waits for its answer, however long, and with it the
// team and whoever builds on the work; nobody is woken meanwhile.
func TestProtectedWorkWaits(t *testing.T) {
	t.Parallel()
	g := protectedWork(t, "on_ask: wait\n")
	clock := &teamtest.HandClock{}
	u := teamtest.Start(g.Rig, clock)
	r := u.Asked(requests.AskMerge)
	if r.To != actors.Operator || !strings.Contains(r.Text, "covey diff 1 shows it") || !r.Deadline.IsZero() {
		t.Errorf("asked %+v", r)
	}
	clock.Forward(61 * time.Minute)
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if got := g.Git("show main:policy/a.txt main:b.txt"); got != "a\nb" {
		t.Errorf("main has %q", got)
	}
}

// TestProtectedWorkIsNotAnswered: where nobody can answer, the work is not merged and goes to nobody, and
// the run ends and says why. The question stays open. That the spec says that somebody looks does not
// count in a CI job.
func TestProtectedWorkIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]orchestrator.Options{"": {}, "on_ask: wait\n": {Unattended: true}} {
		g := protectedWork(t, name)
		g.Want(g.Run(o), orchestrator.CodeUnfinished, "it changes protected files; covey inbox has the question")
		if len(g.List()) != 2 {
			t.Errorf("the author got a task: %+v", g.List())
		}
		asked := teamtest.Of[requests.Request](g.Rig, "request")
		if len(asked) == 0 || slices.ContainsFunc(asked, func(r requests.Request) bool { return !r.Open() }) {
			t.Errorf("%+v", asked)
		}
	}
}

// TestAnswerWithoutATeam: a question outlives its team and can be answered meanwhile; the
// next run takes the answer up.
func TestAnswerWithoutATeam(t *testing.T) {
	t.Parallel()
	g := protectedWork(t, "on_ask: wait\n")
	u := teamtest.Start(g.Rig, &teamtest.HandClock{})
	r := u.Asked(requests.AskMerge)
	if _, err := inbox.AnswerStopped(t.Context(), g.Place(), r.ID, requests.Ruling{Approve: true}); !errors.Is(err, state.ErrRunning) {
		t.Errorf("while it runs: %v", err)
	}
	u.Lines.Wait(t, "the work to be held", func(l events.Line) bool {
		return l.Type == "merge" && strings.Contains(string(l.Data), `"asked":"`+r.ID+`"`)
	})
	u.Stop(errors.New("enough"))
	u.End()
	got, err := inbox.AnswerStopped(t.Context(), g.Place(), strings.ToUpper(r.ID), requests.Ruling{Approve: true,
		Feedback: "fine"})
	if err != nil || got.State != requests.Approved || got.By != actors.Operator {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := inbox.AnswerStopped(t.Context(), g.Place(), r.ID, requests.Ruling{}); !errors.Is(err, tasks.ErrAnswered) {
		t.Errorf("a second answer: %v", err)
	}
	g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if got := g.Git("show main:policy/a.txt"); got != "a" {
		t.Errorf("main has %q", got)
	}
	for _, q := range teamtest.Of[requests.Request](g.Rig, "request") {
		if q.ID != r.ID {
			t.Errorf("asked again: %+v", q)
		}
	}
}
