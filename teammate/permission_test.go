package teammate

import (
	"context"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

func ruleList(tb testing.TB, texts ...string) []rules.Rule {
	tb.Helper()
	var all []rules.Rule
	for _, text := range texts {
		r, err := rules.Parse(text)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// asker answers and remembers.
type asker struct {
	yes    bool
	by     string
	said   string
	absent bool
	asked  []string
}

func (a *asker) Present() bool { return !a.absent }

func (a *asker) Ask(_ context.Context, q Question) Answer {
	a.asked = append(a.asked, q.Member+" "+q.Call.Name+": "+q.Reason)
	return Answer{Allow: a.yes, By: a.by, Said: a.said}
}

// What the model reads and the journal tells, for each way a call is decided.
func TestPermissionTexts(t *testing.T) {
	way := " Go on without it, or tell your lead what you need it for. A person can allow it for api in the team's spec: " +
		"by a rule for Bash under permissions.allow, unless one under ask names the call, or by another permission_mode."
	hookSays := func(decision, reason string) hooks.Outcome {
		return hooks.Outcome{Permission: hooks.Permission{Decision: decision, Reason: reason}}
	}
	denied := hookSays("deny", "denied by hook")
	denied.Decision, denied.Feedback = hooks.Block, []string{"PreToolUse:Bash hook error: denied by hook"}
	tests := map[string]struct {
		mode     string
		ask, den []string
		pre      hooks.Outcome
		asker    *asker
		want     string // "result: ran", or the error
		by       events.PermissionDecided
	}{
		"bypass": {mode: permission.ModeBypass, want: "result: ran", by: events.PermissionDecided{Decision: "allow", By: "mode"}},
		"hook allows": {pre: hookSays("allow", "ok"), want: "result: ran",
			by: events.PermissionDecided{Decision: "allow", By: "hook"}},
		"hook denies": {mode: permission.ModeBypass, pre: denied, want: "error: PreToolUse:Bash hook error: denied by hook",
			by: events.PermissionDecided{Decision: "deny", By: "hook"}},
		"hook blocks without a word": {mode: permission.ModeBypass, pre: hooks.Outcome{Decision: hooks.Block},
			want: "error: PreToolUse:Bash hook error: Blocked by hook", by: events.PermissionDecided{Decision: "deny", By: "hook"}},
		"hook denies without feedback": {pre: hookSays("deny", "because"),
			want: "error: PreToolUse:Bash hook error: because", by: events.PermissionDecided{Decision: "deny", By: "hook"}},
		"hook asks, nobody there": {mode: permission.ModeBypass, pre: hookSays("ask", "ask by hook"), want: "error: ask by hook",
			by: events.PermissionDecided{Decision: "deny", By: "nobody"}},
		"hook asks, yes": {pre: hookSays("ask", "really?"), asker: &asker{yes: true, by: "person"},
			want: "result: ran",
			by:   events.PermissionDecided{Decision: "allow", By: "person"}},
		"hook defers": {mode: permission.ModeBypass, pre: hookSays("defer", ""), want: "error: " + deferredText,
			by: events.PermissionDecided{Decision: "defer", By: "hook"}},
		"deny rule, hook allows": {mode: permission.ModeBypass, den: []string{"Bash(touch:*)"}, pre: hookSays("allow", "ok"),
			want: "error: Permission to use Bash with command touch x && echo y has been denied. The rule Bash(touch:*) forbids this part: touch x",
			by:   events.PermissionDecided{Decision: "deny", By: "rule", Rule: "Bash(touch:*)"}},
		"ask rule, hook allows": {mode: permission.ModeBypass, ask: []string{"Bash(touch:*)"}, pre: hookSays("allow", "ok"),
			want: "error: Permission to use Bash was not given (ask rule Bash(touch:*)), because nobody can be asked now." + way,
			by:   events.PermissionDecided{Decision: "deny", By: "nobody", Rule: "Bash(touch:*)"}},
		"default, nobody there": {
			want: "error: Permission to use Bash was not given (permission mode default), because nobody can be asked now." + way,
			by:   events.PermissionDecided{Decision: "deny", By: "nobody"}},
		"default, no": {asker: &asker{by: "person"},
			want: "error: Permission to use Bash was not given (permission mode default), and person said no." + way,
			by:   events.PermissionDecided{Decision: "deny", By: "person"}},
		"default, no, with a reason": {asker: &asker{by: "person", said: "use v2"},
			want: "error: Permission to use Bash was not given (permission mode default), and person said no. " +
				"What they said: use v2",
			by: events.PermissionDecided{Decision: "deny", By: "person"}},
		"default, everybody left": {asker: &asker{yes: true, absent: true},
			want: "error: Permission to use Bash was not given (permission mode default), because nobody can be asked now." + way,
			by:   events.PermissionDecided{Decision: "deny", By: "nobody"}},
		"default, nobody answers": {asker: &asker{},
			want: "error: Permission to use Bash was not given (permission mode default), because nobody can be asked now." + way,
			by:   events.PermissionDecided{Decision: "deny", By: "nobody"}},
		"default, yes": {asker: &asker{yes: true, by: "person"}, want: "result: ran",
			by: events.PermissionDecided{Decision: "allow", By: "person"}},
		"dontAsk": {mode: permission.ModeNoAsk, asker: &asker{yes: true},
			want: "error: Permission to use Bash was not given, because permission mode dontAsk asks nobody." + way,
			by:   events.PermissionDecided{Decision: "deny", By: "mode", Mode: "dontAsk"}},
		"plan": {mode: permission.ModePlan, pre: hookSays("allow", "ok"),
			want: "error: Bash was not run: you are in plan mode, where only tools that change nothing run. Go on planning without it.",
			by:   events.PermissionDecided{Decision: "deny", By: "mode", Mode: "plan"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{"command":"touch x && echo y"}`)}})
			r.opts.Rights = permission.NewRights(permission.Policy{Mode: test.mode, Ask: ruleList(t, test.ask...),
				Deny: ruleList(t, test.den...)}, nil)
			if test.asker != nil {
				r.opts.Asker = test.asker
			}
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PreToolUse: {test.pre}})
			r.mustRun(t)
			equal(t, "model", r.agent.seen[1], test.want)
			test.by.ID, test.by.Tool = "c1", "Bash"
			if test.by.Decision == "deny" {
				test.by.Call = "touch x && echo y"
			}
			equal(t, "journal", one[events.PermissionDecided](t, r.journal), test.by)
			ran := len(r.runner.of(hooks.PostToolUse)) == 1
			equal(t, "ran", ran, test.want == "result: ran")
			if test.asker != nil && !test.asker.absent && test.mode != permission.ModeNoAsk {
				equal(t, "asked", len(test.asker.asked), 1)
				equal(t, "notified", r.runner.of(hooks.Notification)[0].Payload.(hooks.NotificationInput),
					hooks.NotificationInput{Message: "api needs your permission to use Bash",
						NotificationType: "permission_prompt"})
			}
		})
	}
}
