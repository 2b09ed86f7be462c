package teammate

import (
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Permits brings the input of a call into its one form and asks the rules and
// the mode whether it may run, for an agent that works for a member outside of
// its turns and can ask nobody. denial is what that agent is told; empty: it may
// run. says is what PreToolUse hooks decided.
func (p Permissions) Permits(t agent.Tool, call *agent.ToolCall, dir *workspace.Workdir, says hooks.Outcome) (denial string) {
	spec := t.Spec()
	schema, err := resolveSchema(spec.Schema)
	tl := &tool{Tool: t, spec: spec, schema: schema}
	if err == nil {
		err = tl.prepare(call, dir.Dir())
	}
	if err != nil {
		return badInput(call.Name, err).Content
	}
	hook := behavior(says.Permission.Decision)
	if says.Decision != hooks.Pass && hook != allow {
		hook = deny
	}
	r := p.decide(question{
		spec:   spec,
		call:   rules.Call{Tool: call.Name, Input: call.Input, Cwd: dir.Dir(), Root: dir.Root()},
		hook:   hook,
		inside: inWorkspace(dir, tl, call.Input),
	})
	if r.behavior == allow {
		return ""
	}
	return fmt.Sprintf("Permission to use %s%s has been denied: here nobody can be asked. Go on without it.",
		call.Name, command(*call))
}
