package teammate

import (
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// deferredText is the result of a call that a hook has deferred, and of the calls after it in
// the same message. The model repeats them when the member is told to go on, and their hooks run
// again then.
const deferredText = "Not run: a PreToolUse hook deferred this call or one before it. " +
	"Repeat it when you are told to go on."

// deferral defers a call if a PreToolUse hook decides permissionDecision defer
// (HOOKS.md 5.10). The turn ends before any gate, and the member needs attention. It
// applies only where nobody can be asked at once. The other calls of the message that have not
// run yet do not run either, as recorded, but their hooks are asked.
func (run *agentRun) deferral(pre hooks.Outcome, call *agent.ToolCall) bool {
	switch {
	case pre.Decision != hooks.Pass:
		return false
	case pre.Permission.Decision != "defer":
		return run.deferred != ""
	case (permitter{run.u.at}).asker() != nil || run.u.t.helper != nil:
		run.u.at.warn("a PreToolUse hook wants %s deferred, which applies only to a member that can ask nobody: "+
			"the decision was ignored", call.Name)
		return false
	}
	run.u.at.emit(events.PermissionDecided{ID: call.ID, Tool: call.Name, Decision: "defer", By: "hook"})
	if run.deferred != "" {
		return true
	}
	run.deferred = "a hook has deferred " + call.Name
	if pre.Permission.Reason != "" {
		run.deferred += ": " + pre.Permission.Reason
	}
	run.u.at.halted = run.deferred
	return true
}
