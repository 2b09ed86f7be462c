package orchestrator

import (
	"strings"
	"testing"

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
		"a tool": of[agent.ToolReturned](r, "tool_result")[0].Content, "a hook": r.read("hook.env"),
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
		event agent.EventData
		doing string
	}{
		{agent.TurnStarted{}, "starting a turn"},
		{agent.PassStarted{Pass: 1}, "thinking"},
		{agent.TextSaid{Text: "one"}, "thinking"},
		{agent.ToolCalled{Name: "Bash"}, "Bash"},
		{agent.ToolReturned{}, "thinking"},
		// Calls of one pass are announced together and made in order.
		{agent.ToolCalled{ID: "1", Name: "Read"}, "Read"},
		{agent.ToolCalled{ID: "2", Name: "Bash"}, "Read"},
		{agent.ToolReturned{ID: "1"}, "Bash"},
		{agent.HookStarted{Event: string(hooks.PreToolUse)}, "PreToolUse hooks"},
		{agent.HookStarted{Event: string(hooks.PreToolUse)}, "PreToolUse hooks"},
		{agent.HookFinished{}, "PreToolUse hooks"},
		{agent.HookFinished{}, "Bash"},
		{agent.ToolReturned{ID: "2"}, "thinking"},
		{agent.PassStarted{Pass: 2}, "thinking"},
		{agent.TextSaid{Text: "two"}, "thinking"},
		{agent.HookStarted{Event: string(hooks.Stop)}, "Stop hooks"},
		{agent.HookFinished{FailedOpen: true}, "Stop hooks"},
		{agent.HookFeedback{}, "Stop hooks"},
		{agent.TurnEnded{Usage: agent.Usage{InputTokens: 3, OutputTokens: 4}}, ""},
		{agent.TurnEnded{Usage: agent.Usage{InputTokens: 10}, UsageUnknown: true}, ""},
		{agent.TurnEnded{}, ""}, // what is not known stays so
	}
	var tally budget.Tally
	for i, s := range steps {
		w.Record("", agent.Event{Turn: 7, Data: s.event})
		tally.See(agent.Event{Turn: 7, Data: s.event})
		now := w.Of("")
		if now.Doing != s.doing {
			t.Errorf("after event %d (%s) it is %q, want %q", i, s.event.EventType(), now.Doing, s.doing)
		}
		if now.InTurn != (s.doing != "") {
			t.Errorf("after event %d (%s): in a turn %v", i, s.event.EventType(), now.InTurn)
		}
	}
	w.Record("", agent.Event{Data: agent.Warning{}}) // of no turn
	if now := w.Of(""); now.Turn != 7 || now.Pass != 2 || now.LastText != "two" {
		t.Errorf("the watch holds %+v", now)
	}
	if done := tally.Of(""); done.Turns != 1 || done.Passes != 2 || !done.Useful || done.Tokens != 17 ||
		done.Refusals != 1 || !done.TokensUnknown {
		t.Errorf("it has done %+v", done)
	}
}
