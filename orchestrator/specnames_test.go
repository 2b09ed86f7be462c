package orchestrator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/workspace"
)

// TestSpecsKnowAllToolsAndPolicies: what a spec may name is what members have.
func TestSpecsKnowAllToolsAndPolicies(t *testing.T) {
	t.Parallel()
	var have []string
	workspace := tools.New(tools.Env{
		Workdir: workspace.NewWorkdir(t.TempDir()), OutputDir: t.TempDir(),
		Skills: tools.NewSkills([]tools.Skill{{Name: "any"}}, "s", ""), // without one there is no tool for it
	})
	defer func() {
		if err := workspace.Close(); err != nil {
			t.Error(err)
		}
	}()
	team, err := teamtools.Describe(teamtools.BuiltinNames, &members.Member{Member: &configs.Member{}})
	if err != nil {
		t.Fatal(err)
	}
	specs := []agent.Spec{builtin.NewAgentTool(workspace, builtin.Helpers{}).Spec()}
	for _, tool := range workspace.List() {
		specs = append(specs, tool.Spec())
	}
	for _, tool := range team {
		specs = append(specs, tool.Spec())
	}
	for _, spec := range specs {
		have = append(have, spec.Name)
		var schema struct{ Type string }
		if err := json.Unmarshal(spec.Schema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("the schema of %s is for %q, %v", spec.Name, schema.Type, err)
		}
	}
	if known := toolsThatSpecsKnow(t); !slices.Equal(slices.Sorted(slices.Values(have)), known) {
		t.Errorf("members have %v, specs know %v", have, known)
	}
	var policies []string
	for name := range teamhooks.NewPolicies(teamhooks.PolicyDeps{}).All() {
		if name != writes.FilesPolicy && name != inbox.TakenPolicy { // covey puts them there itself (withPolicies)
			policies = append(policies, name)
		}
	}
	if slices.Sort(policies); !slices.Equal(policies, slices.Sorted(slices.Values(configs.Policies()))) {
		t.Errorf("the crew has the policies %v, specs know %v", policies, configs.Policies())
	}
}

// toolsThatSpecsKnow asks for them by naming one that there is not.
func toolsThatSpecsKnow(t *testing.T) []string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(script, []byte("steps: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	team, err := configs.Parse("team.yaml", []byte("covey: 1\nmodels: {m: {provider: script, script: '"+script+"'}}\n"+
		"lead: {model: m, tools: [Transmogrifier]}\n"))
	if err != nil || len(team.Warnings) != 1 {
		t.Fatalf("%+v, %v; want one warning", team, err)
	}
	_, list, ok := strings.Cut(team.Warnings[0].Message, "the tools are ")
	if !ok {
		t.Fatalf("the warning lists no tools: %+v", team.Warnings[0])
	}
	return slices.Sorted(slices.Values(strings.Split(list, ", ")))
}
