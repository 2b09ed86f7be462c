package orchestrator_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

const idlePair = testkit.PairSpec + "defaults: {limits: {max_in_progress: 1}}\n"

func TestClientWorksWithARunningTeam(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.ReplaceAll(idlePair, "dev: {model: dev}\n", "dev: {model: dev, self_claim: false}\n"),
		"lead.yaml": `steps: [{say: Yes., times: -1}]`,
		"dev.yaml":  `steps: [{say: Yes., times: -1}]`,
	})
	c, ctx := r.Up(), context.Background()
	made, err := c.CreateTask(ctx, api.TaskCreate{Subject: "one", Description: "d"})
	if err != nil || made.Task.ID != "1" || made.Task.Status != tasks.Pending {
		t.Fatalf("create: %+v, %v", made, err)
	}
	if _, err := c.CreateTask(ctx, api.TaskCreate{Subject: "two", BlockedBy: []string{"1"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ClaimTask(ctx, api.TaskClaim{ID: "2", As: "dev"}); err == nil || !strings.Contains(err.Error(), "1") {
		t.Errorf("claiming a blocked task: %v", err)
	}
	if _, err := c.ClaimTask(ctx, api.TaskClaim{ID: "1"}); err == nil || !strings.Contains(err.Error(), "--as") {
		t.Errorf("claiming for nobody: %v", err)
	}
	claimed, err := c.ClaimTask(ctx, api.TaskClaim{ID: "1", As: "dev"})
	if err != nil || claimed.Task.Owner != "dev" || claimed.Task.Epoch == 0 {
		t.Errorf("claim: %+v, %v", claimed, err)
	}
	if _, err := c.ClaimTask(ctx, api.TaskClaim{ID: "1", As: "lead"}); err == nil ||
		!strings.Contains(err.Error(), "dev") {
		t.Errorf("claiming what dev has: %v", err)
	}
	if _, err := c.ClaimTask(ctx, api.TaskClaim{ID: "9", As: "dev"}); err == nil {
		t.Error("claiming a task that is not there went through")
	}
	done := tasks.Completed
	if _, err := c.UpdateTask(ctx, api.TaskUpdate{ID: "1", Status: &done, As: "dev"}); err != nil {
		t.Error(err)
	}
	gone := api.Deleted
	if _, err := c.UpdateTask(ctx, api.TaskUpdate{ID: "2", Status: &gone}); err != nil {
		t.Error(err)
	}
	all, err := c.Tasks(ctx)
	if err != nil || len(all) != 1 || all[0].Status != tasks.Completed {
		t.Errorf("tasks: %+v, %v", all, err)
	}
	st, err := c.Status(ctx)
	if err != nil || len(st.Members) != 2 || st.Tasks.Completed != 1 {
		t.Errorf("status: %+v, %v", st, err)
	}
}

func TestSendAndInterrupt(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec,
		"lead.yaml": `steps:
  - {when: Ship it, say: Go.}
  - {when: slow one, say: never said, delay: 60s}
  - {when: what now, say: All is well.}
  - {say: Yes., times: -1}
`,
		"dev.yaml": `steps: [{say: Yes., times: -1}]`,
	})
	c, ctx := r.Up(), context.Background()
	r.Lines.Wait(t, "the goal's turn to end", func(l events.Line) bool {
		return l.Type == "idle" &&
			l.Member == "lead"
	})
	for { // the line comes a moment before the member waits for work again
		st, err := c.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if st.Members[0].State == api.Resting {
			break
		}
	}
	if rep, err := c.Send(ctx, api.Send{To: "lead", Text: "a slow one"}); err != nil || rep.Delivery != api.Delivered {
		t.Fatalf("send to an idle member: %+v, %v", rep, err)
	}
	r.Lines.Wait(t, "the slow pass", func(l events.Line) bool { return l.Type == "pass_started" && l.Turn == 2 })
	if rep, err := c.Send(ctx, api.Send{To: "lead", Text: "what now?"}); err != nil || rep.Delivery != api.Queued {
		t.Fatalf("send to a busy member: %+v, %v", rep, err)
	}
	if _, err := c.Send(ctx, api.Send{To: "ghost", Text: "x"}); err == nil || !strings.Contains(err.Error(),
		"lead, dev") {
		t.Errorf("send to nobody: %v", err)
	}
	if rep, err := c.Interrupt(ctx, api.InterruptRequest{Member: "lead"}); err != nil || !rep.Interrupted {
		t.Fatalf("interrupt: %+v, %v", rep, err)
	}
	r.Lines.Wait(t, "the next turn", func(l events.Line) bool {
		return l.Type == "text" && strings.Contains(string(l.Data), "All is well.")
	})
	if rep, err := c.Interrupt(ctx, api.InterruptRequest{Member: "dev"}); err != nil || rep.Interrupted {
		t.Errorf("interrupting who does nothing: %+v, %v", rep, err)
	}
}

func TestDownEndsTheTeam(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": `steps: [{say: late, delay: 60s}]`})
	o := r.Orchestrator(orchestrator.Options{})
	done := make(chan orchestrator.Ending, 1)
	go func() {
		e, err := o.Run(context.Background())
		if err != nil {
			t.Error(err)
		}
		done <- e
	}()
	r.Lines.Wait(t, "the pass", func(l events.Line) bool { return l.Type == "pass_started" })
	c, err := api.Dial(context.Background(), o.Place())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Down(context.Background(), "enough for today"); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-done:
		r.Want(e, orchestrator.CodeUnfinished, "told to stop: enough for today")
	case <-time.After(testkit.Patience):
		t.Fatal("the team goes on")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	run, err := state.ReadRunFile(o.Place())
	if err != nil || run.Result == nil || run.Result.ExitCode != orchestrator.CodeUnfinished {
		t.Errorf("run.json says %+v, %v", run.Result, err)
	}
}

func TestAttentionEndsWithItsCause(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: api, subject: Add it, owner: dev}]\n",
		"lead.yaml": `steps: [{say: Hm., times: -1}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - {say: Hm., times: -1}
`,
	})
	c, ctx := r.Up(), context.Background()
	r.Lines.Wait(t, "dev to need attention", func(l events.Line) bool { return l.Type == "needs_attention" })
	done := tasks.Completed
	if _, err := c.UpdateTask(ctx, api.TaskUpdate{ID: "1", Status: &done}); !errors.Is(err, tasks.ErrOwned) {
		t.Errorf("the operator completed dev's task without force: %v", err)
	}
	if _, err := c.UpdateTask(ctx, api.TaskUpdate{ID: "1", Status: &done, Force: true}); err != nil {
		t.Fatal(err)
	}
	r.Lines.Wait(t, "the lead's report", func(l events.Line) bool {
		return l.Type == "turn_started" && strings.Contains(string(l.Data), "All tasks are completed")
	})
	st, err := c.Status(ctx)
	if err != nil || st.Members[1].Attention != "" {
		t.Errorf("dev still needs attention: %+v, %v", st.Members[1], err)
	}
}

// BenchmarkCountTasks counts 8,000 tasks that wait for each other in a chain.
func BenchmarkCountTasks(b *testing.B) {
	all := make([]tasks.Outline, 8000)
	for i := range all {
		all[i] = tasks.Outline{ID: strconv.Itoa(i + 1), Status: tasks.Pending}
		if i > 0 {
			all[i].BlockedBy = []string{strconv.Itoa(i)}
		}
	}
	for b.Loop() {
		if n := api.CountTasks(all); n.Blocked != 7999 || n.Ready != 1 {
			b.Fatalf("%+v", n)
		}
	}
}
