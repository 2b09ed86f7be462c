package teammate

import (
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// deferredText is the result of a call that a hook has deferred. The model repeats
// the call when the member is told to go on, and its hooks run again then.
const deferredText = "Not run: a PreToolUse hook deferred this call. Repeat it when you are told to go on."

// deferral defers a call if a PreToolUse hook decides permissionDecision defer
// (HOOKS.md 5.10). The turn ends before any gate, and the member needs attention. It
// applies only where nobody can be asked at once, and only to a call that is alone in
// its message, because the others would have run.
func (run *agentRun) deferral(pre hooks.Outcome, call *agent.ToolCall) bool {
	if pre.Decision != hooks.Pass || pre.Permission.Decision != "defer" {
		return false
	}
	if (permitter{run.u.at}).asker() != nil || run.u.t.helper != nil || len(run.batch) > 0 || len(run.u.t.calls.List) > 1 {
		run.u.at.warn("a PreToolUse hook wants %s deferred, which applies only to a member that can ask nobody, "+
			"and to a call that is alone in its message: the decision was ignored", call.Name)
		return false
	}
	run.deferred = "a hook has deferred " + call.Name
	if pre.Permission.Reason != "" {
		run.deferred += ": " + pre.Permission.Reason
	}
	run.u.at.halted = run.deferred
	run.u.at.emit(agent.PermissionDecided{ID: call.ID, Tool: call.Name, Decision: "defer", By: "hook"})
	return true
}
