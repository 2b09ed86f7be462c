package teamhooks

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// triggersOf loads a spec and gives what its members fire, by name.
func triggersOf(t *testing.T, spec string, event hooks.Event, agentHooks bool) map[string]Trigger {
	t.Helper()
	dir := t.TempDir()
	testkit.Put(t, dir, "lead.yaml", "steps: []\n")
	testkit.Put(t, dir, "team.yaml", spec)
	list, err := Triggers(mustLoad(t, filepath.Join(dir, "team.yaml")), event, agentHooks)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Trigger{}
	for _, tr := range list {
		by[tr.Member] = tr
	}
	return by
}

// The tools of a builtin agent without limits are those that specs may name: what the
// doctor goes by must not fall behind them.
func TestTriggersKnowAllTools(t *testing.T) {
	t.Parallel()
	const spec = "covey: 1\ngoal: g\nmodels: {lead: {provider: script, script: lead.yaml}}\nlead: {model: lead}\n" +
		"teammates: {dev: {model: lead}}\n"
	by := triggersOf(t, spec, hooks.PreToolUse, false)
	want := slices.Sorted(slices.Values(settings.OwnTools()))
	if got := by["dev"].Values; by["dev"].Open || !slices.Equal(got, want) {
		t.Errorf("dev has %v, want %v", got, want)
	}
	// A lead has the tool for reports, and nobody to ask.
	got := by["lead"].Values
	if !slices.Contains(got, teamtools.ReportTool) || slices.Contains(got, "AskLead") || len(got) != len(want) {
		t.Errorf("lead has %v", got)
	}
}

// What is certain of an agent depends on its kind, its tools and the event. Where one
// may do more than covey knows, the trigger is open.
func TestTriggers(t *testing.T) {
	t.Parallel()
	const spec = `covey: 1
goal: g
models: {lead: {provider: script, script: lead.yaml}}
agents:
  once: {use: command, command: [cat]}
  acp: {use: acp, command: [cat], fallback: once}
lead: {model: lead, tools: [Read]}
teammates:
  plans: {model: lead, tools: [], plan: required}
  shell: {model: lead, tools: [Bash]}
  runs: {agent: once, tools: [Grep]}
  talks: {agent: acp}
`
	const open = "*"
	for _, tc := range []struct {
		event      hooks.Event
		agentHooks bool
		// want is a value that a member fires, "" for none at all, "-x" for all but x.
		want map[string]string
	}{
		{hooks.PreToolUse, false, map[string]string{"lead": "Read", "plans": "ExitPlanMode", "shell": "KillShell",
			"runs": "mcp__covey__team_task_update", "talks": open}},
		{hooks.PreToolUse, false, map[string]string{"lead": "-Bash", "plans": "-Read", "shell": "-Agent", "runs": "-TaskUpdate"}},
		{hooks.PreToolUse, true, map[string]string{"lead": "Read", "runs": "Grep"}},
		{hooks.PreToolUse, true, map[string]string{"lead": "-Bash", "runs": "-Bash"}},
		{hooks.PostToolUse, false, map[string]string{"lead": "-Bash", "runs": open, "talks": open}},
		{hooks.PermissionRequest, false, map[string]string{"lead": "Read", "runs": "", "talks": open}},
		{hooks.SubagentStart, false, map[string]string{"lead": "", "runs": "", "talks": ""}},
		{hooks.CwdChanged, false, map[string]string{"lead": "", "shell": open, "runs": "", "talks": ""}},
		{hooks.DirectoryAdded, false, map[string]string{"lead": open, "runs": "", "talks": open}},
		{hooks.InstructionsLoaded, false, map[string]string{"lead": open, "runs": "", "talks": ""}},
		{hooks.Stop, false, map[string]string{"lead": open, "runs": open, "talks": open}},
	} {
		by := triggersOf(t, spec, tc.event, tc.agentHooks)
		for member, want := range tc.want {
			got := by[member]
			ok := !got.Open
			switch not, without := strings.CutPrefix(want, "-"); {
			case want == open:
				ok = got.Open
			case want == "":
				ok = ok && len(got.Values) == 0 && got.Why != ""
			case without:
				ok = ok && len(got.Values) > 0 && !slices.Contains(got.Values, not)
			default:
				ok = ok && slices.Contains(got.Values, want)
			}
			if !ok {
				t.Errorf("%s of %s: %+v, want %q", tc.event, member, got, want)
			}
		}
	}
}

// A member that may fall back to a program may do what that program does.
func TestTriggersOfFallbacks(t *testing.T) {
	t.Parallel()
	const spec = `covey: 1
goal: g
models: {lead: {provider: script, script: lead.yaml}}
agents:
  own: {use: builtin, model: {provider: script, script: lead.yaml}, fallback: acp}
  acp: {use: acp, command: [cat]}
lead: {agent: own}
`
	if by := triggersOf(t, spec, hooks.PreToolUse, false); by["lead"].Open {
		t.Errorf("without on_limit nobody falls back: %+v", by)
	}
	if by := triggersOf(t, spec+"budget: {on_limit: fallback}\n", hooks.PreToolUse, false); !by["lead"].Open {
		t.Errorf("the lead may fall back to a program: %+v", by)
	}
}
