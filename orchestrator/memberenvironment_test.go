package orchestrator

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestToolsAndHooksSeeNoSecrets looks at what really arrives.
func TestToolsAndHooksSeeNoSecrets(t *testing.T) {
	r := newRig(t, map[string]string{
		"team.yaml": strings.Replace(soloSpec, "lead: {model: lead}",
			"lead: {model: lead, permission_mode: bypassPermissions}", 1) +
			"hooks: {Stop: [{hooks: [{type: command, command: \"env > hook.env\"}]}]}\n",
		"lead.yaml": `steps:
  - call: [{tool: Bash, input: {command: env}}]
  - say: Looked.
`,
	})
	for _, name := range []string{"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DATABASE_URL", "LD_PRELOAD", "HF_TOKEN"} {
		t.Setenv(name, "secret-of-"+name)
	}
	t.Setenv("COVEY_PASS_ENV", "HF_TOKEN")
	r.want(r.run(Options{}), CodeDone, "all work is done")
	seen := map[string]string{
		"a tool": of[events.ToolReturned](r, "tool_result")[0].Content, "a hook": r.read("hook.env"),
	}
	for who, text := range seen {
		if got := strings.Count(text, "secret-of-"); got != 1 || !strings.Contains(text,
			"HF_TOKEN=secret-of-HF_TOKEN") {
			t.Errorf("%s sees %d secrets, want that of HF_TOKEN alone:\n%s", who, got, text)
		}
		for _, name := range []string{"COVEY_TEAM=crew", "COVEY_MEMBER=lead", "COVEY_BIN=", "COVEY_RUN=",
			"COVEY_WORKSPACE=" + r.dir} {
			if !strings.Contains(text, name) {
				t.Errorf("%s does not see %s:\n%s", who, name, text)
			}
		}
	}
}

func TestWatchSeesWhatMembersDo(t *testing.T) {
	t.Parallel()
	var w lives.Watch
	steps := []struct {
		event events.Data
		doing string
	}{
		{events.TurnStarted{}, "starting a turn"},
		{events.PassStarted{Pass: 1}, "thinking"},
		{events.TextSaid{Text: "one"}, "thinking"},
		{events.ToolCalled{Name: "Bash"}, "Bash"},
		{events.ToolReturned{}, "thinking"},
		// Calls of one pass are announced together and made in order.
		{events.ToolCalled{ID: "1", Name: "Read"}, "Read"},
		{events.ToolCalled{ID: "2", Name: "Bash"}, "Read"},
		{events.ToolReturned{ID: "1"}, "Bash"},
		{events.HookStarted{Event: string(hooks.PreToolUse)}, "PreToolUse hooks"},
		{events.HookStarted{Event: string(hooks.PreToolUse)}, "PreToolUse hooks"},
		{events.HookFinished{}, "PreToolUse hooks"},
		{events.HookFinished{}, "Bash"},
		{events.ToolReturned{ID: "2"}, "thinking"},
		{events.PassStarted{Pass: 2}, "thinking"},
		{events.TextSaid{Text: "two"}, "thinking"},
		{events.HookStarted{Event: string(hooks.Stop)}, "Stop hooks"},
		{events.HookFinished{FailedOpen: true}, "Stop hooks"},
		{events.HookFeedback{}, "Stop hooks"},
		{events.TurnEnded{Usage: agent.Usage{InputTokens: 3, OutputTokens: 4}}, ""},
		{events.TurnEnded{Usage: agent.Usage{InputTokens: 10}, UsageUnknown: true}, ""},
		{events.TurnEnded{}, ""}, // what is not known stays so
	}
	var tally budget.Tally
	for i, s := range steps {
		w.Record("", events.Event{Turn: 7, Data: s.event})
		tally.See(events.Event{Turn: 7, Data: s.event})
		now := w.Of("")
		if now.Doing != s.doing {
			t.Errorf("after event %d (%s) it is %q, want %q", i, s.event.Type(), now.Doing, s.doing)
		}
		if now.InTurn != (s.doing != "") {
			t.Errorf("after event %d (%s): in a turn %v", i, s.event.Type(), now.InTurn)
		}
	}
	w.Record("", events.Event{Data: events.Warning{}}) // of no turn
	if now := w.Of(""); now.Turn != 7 || now.Pass != 2 || now.LastText != "two" {
		t.Errorf("the watch holds %+v", now)
	}
	if done := tally.Of(""); done.Turns != 1 || done.Passes != 2 || !done.Useful || done.Tokens != 17 ||
		done.Refusals != 1 || !done.TokensUnknown {
		t.Errorf("it has done %+v", done)
	}
}
