package launch_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// TestPlanNeedsAnAgentThatAsks: where an agent asks nobody, an approval would come
// after the fact, and the spec is refused.
func TestPlanNeedsAnAgentThatAsks(t *testing.T) {
	t.Parallel()
	must := configs.Member{Name: "dev", PlanRequired: true, Agent: configs.Agent{Kind: configs.Command, Name: "sh"}}
	free := must
	free.PlanRequired = false
	builtin := must
	builtin.Agent = configs.Agent{Kind: configs.Builtin}
	for name, tc := range map[string]struct {
		m    configs.Member
		says string
	}{
		"asks nobody": {must, `member dev: the mandatory "plan: required" cannot hold: agent sh makes such calls without asking`},
		"needs none":  {free, ""},
		"builtin":     {builtin, ""},
	} {
		err := launch.CheckDemands(&configs.Team{Lead: tc.m}, nil, launch.LookPath)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}
