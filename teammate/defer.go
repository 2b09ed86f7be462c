package teammate

import (
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// deferredText is the result of a call that a hook has put off. The model makes
// it again when the member is told to go on, and its hooks are asked again then.
const deferredText = "Not run: a PreToolUse hook has put this call off. Make it again when you are told to go on."

// deferral puts a call off, if a PreToolUse hook says so: permissionDecision
// defer (HOOKS.md 5.10). It ends the turn before any gate, and somebody has to
// look; so it counts only where no person could be asked at once, and only for
// a call that its answer has alone, since the others would have run.
func (run *agentRun) deferral(pre hooks.Outcome, call *agent.ToolCall) bool {
	if pre.Decision != hooks.Pass || pre.Permission.Decision != "defer" {
		return false
	}
	if (permitter{run.u.at}).asker() != nil || run.u.t.helper != nil || len(run.batch) > 0 || len(run.u.t.calls.List) > 1 {
		run.u.at.warn("a PreToolUse hook wants %s put off (defer), which counts only for a member that can ask nobody, "+
			"and for a call that stands alone: it was left out", call.Name)
		return false
	}
	run.deferred = "a hook has put off " + call.Name
	if pre.Permission.Reason != "" {
		run.deferred += ": " + pre.Permission.Reason
	}
	run.u.at.halted = run.deferred
	run.u.at.emit(agent.PermissionDecided{ID: call.ID, Tool: call.Name, Decision: "defer", By: "hook"})
	return true
}
