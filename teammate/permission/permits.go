package permission

import (
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Permits prepares the input of a call and decides by the rules and the mode whether it may run,
// for an agent that works for a member outside of its turns and can ask nobody. denial is the
// text for that agent; it is empty if the call may run. says is the outcome of PreToolUse
// hooks.
func (p Policy) Permits(
	t agent.Tool, call *agent.ToolCall, dir *workspace.Workdir, says hooks.Outcome,
) (denial string) {
	tl, err := NewTool(t)
	if err == nil {
		err = tl.Prepare(call, dir.Dir())
	}
	if err != nil {
		return Invalid(call.Name, err)
	}
	hook := Behavior(says.Permission.Decision)
	if says.Decision != hooks.Pass && hook != Allow {
		hook = Deny
	}
	r := p.Decide(Call{
		Spec:   tl.Spec,
		Rules:  rules.Call{Tool: call.Name, Input: call.Input, Cwd: dir.Dir(), Root: dir.Root()},
		Hook:   hook,
		Inside: tl.Inside(dir, call.Input),
	})
	if r.Behavior == Allow {
		return ""
	}
	return fmt.Sprintf("Permission to use %s%s has been denied: here nobody can be asked. Go on without it.",
		call.Name, Command(*call))
}
