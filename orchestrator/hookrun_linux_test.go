package orchestrator

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// What a hook's process asks for is known to come from within that hook, however deep it stands.
func TestRequestsFromWithinHooks(t *testing.T) {
	t.Parallel()
	p := process.New(process.Unmarked)
	start := func() *exec.Cmd {
		t.Helper()
		cmd := exec.Command("sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed, which is an error
		})
		return cmd
	}
	gate, tool := start(), start()
	judged := hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "1"}}
	p.RegisterHook(gate.Process.Pid, process.Owner{Kind: process.Hook, Member: "dev"}, teamhooks.RunOf(hooks.Input{Payload: judged}, 3))
	p.Register(tool.Process.Pid, process.Owner{Kind: process.MemberTool, Member: "dev"})

	ctx, err := teamhooks.Within(t.Context(), p, process.Caller{Kind: process.Hook, Member: "dev", PID: gate.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One}, {id: b, subject: Two}]\n"))
	complete := func(ctx context.Context, id string) error {
		done, operator := tasks.Completed, teamtools.Actor{Actor: actors.Actor{Name: actors.Operator}}
		operator.Fire = func(context.Context, hooks.Payload) (hooks.Outcome, error) {
			return hooks.Outcome{Decision: hooks.Pass}, nil
		}
		_, _, err := r.team.Board.Update(ctx, operator, id, tasks.Patch{Status: &done})
		return err
	}
	if err := complete(ctx, "1"); !errors.Is(err, api.ErrDenied) || !strings.Contains(err.Error(), "by a gate that judges it") {
		t.Errorf("the task that it judges: %v", err)
	}
	if err := complete(ctx, "2"); err != nil {
		t.Errorf("another task: %v", err)
	}
	if err := complete(t.Context(), "1"); err != nil {
		t.Errorf("not by the gate: %v", err)
	}
	for name, pid := range map[string]int{"a tool": tool.Process.Pid, "nobody": 1 << 30} {
		if _, err := teamhooks.Within(t.Context(), p, process.Caller{Kind: process.Hook, Member: "dev", PID: pid}); err == nil {
			t.Errorf("%s was taken for a hook", name)
		}
	}
}
