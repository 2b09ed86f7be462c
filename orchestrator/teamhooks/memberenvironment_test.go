package teamhooks_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestToolsAndHooksSeeNoSecrets looks at what really arrives.
func TestToolsAndHooksSeeNoSecrets(t *testing.T) {
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.SoloSpec, "lead: {model: lead}",
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
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	seen := map[string]string{
		"a tool": teamtest.Of[events.ToolReturned](r, "tool_result")[0].Content, "a hook": r.Read("hook.env"),
	}
	for who, text := range seen {
		if got := strings.Count(text, "secret-of-"); got != 1 || !strings.Contains(text,
			"HF_TOKEN=secret-of-HF_TOKEN") {
			t.Errorf("%s sees %d secrets, want that of HF_TOKEN alone:\n%s", who, got, text)
		}
		for _, name := range []string{"COVEY_TEAM=crew", "COVEY_MEMBER=lead", "COVEY_BIN=", "COVEY_RUN=",
			"COVEY_WORKSPACE=" + r.Dir} {
			if !strings.Contains(text, name) {
				t.Errorf("%s does not see %s:\n%s", who, name, text)
			}
		}
	}
}
