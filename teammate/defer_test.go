package teammate

import (
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// TestDeferAmongSeveralCalls: once a hook defers a call, no call of the message runs any more, but
// the hooks of all are asked, and the turn ends (HOOKS.md section 5, rule 10).
func TestDeferAmongSeveralCalls(t *testing.T) {
	deferred := hooks.Outcome{Decision: hooks.Pass, Permission: hooks.Permission{Decision: "defer", Reason: "later"}}
	free := hooks.Outcome{Decision: hooks.Pass}
	for name, answers := range map[string][]hooks.Outcome{"both": {deferred, deferred}, "the first": {deferred, free}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{"command":"a"}`),
				callTool("c2", "Bash", `{"command":"b"}`)}})
			r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeBypass}, nil)
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PreToolUse: answers})
			r.mustRun(t)
			equal(t, "hooks before the calls", len(r.runner.of(hooks.PreToolUse)), 2)
			equal(t, "calls that ran", len(r.runner.of(hooks.PostToolUse))+len(r.runner.of(hooks.PostToolUseFailure)), 0)
			equal(t, "gates", len(r.runner.of(hooks.Stop)), 0)
			equal(t, "end", one[events.TurnEnded](t, r.journal).Reason, events.EndToolDeferred)
			equal(t, "attention", one[events.NeedsAttention](t, r.journal).Reason, "a hook has deferred Bash: later")
			equal(t, "results", r.agent.seen[1:], []string{"error: " + deferredText, "error: " + deferredText})
		})
	}
}
