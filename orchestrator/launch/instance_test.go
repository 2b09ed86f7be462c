package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/state"
)

func TestProgramRestarts(t *testing.T) {
	for _, test := range []struct {
		r    configs.Restart
		want int
	}{{configs.Restart{Max: 3}, 0}, {configs.Restart{Given: true}, -1}, {configs.Restart{Max: 5, Given: true}, 5}} {
		if got := programRestarts(test.r); got != test.want {
			t.Errorf("%+v gives %d", test.r, got)
		}
	}
}

func TestMCPCommand(t *testing.T) {
	t.Setenv("COVEY_STATE_HOME", "/another")
	t.Setenv("SECRET_TOKEN", "x")
	argv, env := mcpCommand("/bin/covey", state.Place{Dir: "/state/crew-0a1b2c3d", Team: "crew",
		Workspace: "/w"}, []string{"COVEY_SOCKET=/s", "OTHER=x"})
	if got := strings.Join(argv, " "); got != "/bin/covey -C /w --team crew mcp" {
		t.Errorf("the command is %s", got)
	}
	if !slices.Contains(env, "COVEY_STATE_HOME=/state") || !slices.Contains(env, "COVEY_SOCKET=/s") || slices.ContainsFunc(env, func(kv string) bool {
		return strings.Contains(kv, "SECRET") || kv == "COVEY_STATE_HOME=/another"
	}) {
		t.Errorf("the environment is %v", env)
	}
}
