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
	"github.com/coveyteam/covey/tasks"
)

// What a hook's process asks for is known to come from within that hook, however deep it stands.
func TestRequestsFromWithinHooks(t *testing.T) {
	p := process.New("")
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
	judged := hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "7"}}
	p.RegisterHook(gate.Process.Pid, process.Owner{Kind: process.Hook, Member: "dev"}, hookRun(hooks.Input{Payload: judged}, 3))
	p.Register(tool.Process.Pid, process.Owner{Kind: process.MemberTool, Member: "dev"})

	ctx, err := withinHook(t.Context(), p, process.Caller{Kind: process.Hook, Member: "dev", PID: gate.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	if err := notByItsGate(ctx, tasks.Task{ID: "7"}); !errors.Is(err, api.ErrDenied) || !strings.Contains(err.Error(), "by a gate that judges it") {
		t.Errorf("the task that it judges: %v", err)
	}
	for _, other := range []struct {
		ctx context.Context
		id  string
	}{{ctx, "8"}, {t.Context(), "7"}, {t.Context(), ""}} {
		if err := notByItsGate(other.ctx, tasks.Task{ID: other.id}); err != nil {
			t.Errorf("task %q: %v", other.id, err)
		}
	}
	for name, pid := range map[string]int{"a tool": tool.Process.Pid, "nobody": 1 << 30} {
		if _, err := withinHook(t.Context(), p, process.Caller{Kind: process.Hook, Member: "dev", PID: pid}); err == nil {
			t.Errorf("%s was taken for a hook", name)
		}
	}
}
