package configs

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

const head = "covey: 1\nmodels: {demo: {provider: script, script: demo.yaml}, two: {provider: script, script: demo.yaml}}\n" +
	"agents: {coder: {model: two}}\n"

// TestInherit holds what a member gets from defaults and from covey, key by key.
func TestInherit(t *testing.T) {
	tests := []struct {
		name, defaults, member string
		got                    func(Member) any
		want                   any
	}{
		{"mode of covey", "", "", func(m Member) any { return m.PermissionMode }, Default},
		{"mode of defaults", "permission_mode: plan", "", func(m Member) any { return m.PermissionMode }, Plan},
		{"mode of its own", "permission_mode: plan", "permission_mode: dontAsk",
			func(m Member) any { return m.PermissionMode }, DontAsk},
		{"agent replaced by model", "agent: coder", "model: demo", func(m Member) any { return m.Agent.Model.Name }, "demo"},
		{"model replaced by agent", "model: demo", "agent: coder", func(m Member) any { return m.Agent.Name }, "coder"},
		{"agent of defaults", "agent: coder", "description: x", func(m Member) any { return m.Agent.Name }, "coder"},
		{"description", "description: all", "", func(m Member) any { return m.Description }, "all"},
		{"instructions", "instructions: all", "", func(m Member) any { return m.Instructions }, "all"},
		{"own instructions", "instructions: all", "instructions: own", func(m Member) any { return m.Instructions }, "own"},
		{"all tools", "", "", func(m Member) any { return m.Tools }, []string(nil)},
		{"no tools", "tools: [Bash]", "tools: []", func(m Member) any { return m.Tools }, []string{}},
		{"tools of defaults", "tools: [Bash]", "", func(m Member) any { return m.Tools }, []string{"Bash"}},
		{"rules add up", "permissions: {deny: [Bash], allow: [Read]}", "permissions: {deny: [Edit]}",
			func(m Member) any { return m.Permissions },
			Permissions{Deny: []string{"Bash", "Edit"}, Allow: []string{"Read"}}},
		{"isolation", "isolation: shared", "", func(m Member) any { return m.Isolation }, Shared},
		{"isolation left open", "", "", func(m Member) any { return m.Isolation }, Isolation("")},
		{"own isolation", "isolation: worktree", "isolation: shared", func(m Member) any { return m.Isolation }, Shared},
		{"owns", "owns: [a/**]", "", func(m Member) any { return m.Owns }, []string{"a/**"}},
		{"owns nothing", "owns: [a/**]", "owns: []", func(m Member) any { return m.Owns }, []string{}},
		{"plan of defaults", "plan: required", "", func(m Member) any { return m.PlanRequired }, true},
		{"plan lifted", "plan: required", "plan: none", func(m Member) any { return m.PlanRequired }, false},
		{"rotation", "rotate: task", "", func(m Member) any { return m.Rotate }, RotateAfterTask},
		{"no rotation", "rotate: task", "rotate: never", func(m Member) any { return m.Rotate }, RotateNever},
		{"memory", "memory: on", "", func(m Member) any { return m.Memory }, MemoryInState},
		{"no memory", "memory: on", "memory: off", func(m Member) any { return m.Memory }, ""},
		{"restart of covey", "", "", func(m Member) any { return m.Restart }, Restart{Max: 3, Within: time.Hour}},
		{"restart as a whole", "restart: {max: 9, within: 5m}", "restart: {max: 1}",
			func(m Member) any { return m.Restart }, Restart{Max: 1, Within: time.Hour, Given: true}},
		{"nobody waits for itself by default", "depends_on: [x, lead]", "", func(m Member) any { return m.DependsOn }, []string{"lead"}},
		{"own depends_on", "depends_on: [x, lead]", "depends_on: []", func(m Member) any { return m.DependsOn }, []string{}},
		{"role of the agent", "agent: coder", "", func(m Member) any { return m.Role }, "coder"},
		{"role of the name", "", "", func(m Member) any { return m.Role }, "x"},
		{"role of defaults", "role: all, labels: [a]", "", func(m Member) any { return m.Role + m.Labels[0] }, "alla"},
		{"self_claim of covey", "", "", func(m Member) any { return m.SelfClaim }, true},
		{"self_claim of defaults", "self_claim: false", "", func(m Member) any { return m.SelfClaim }, false},
		{"own self_claim", "self_claim: false", "self_claim: true", func(m Member) any { return m.SelfClaim }, true},
		{"limits of covey", "", "", func(m Member) any { return m.Limits }, Limits{StopBlockCap: 8, MaxInProgress: 1, Background: 30 * time.Minute}},
		{"limits one by one", "limits: {max_turns: 3, turn_timeout: 1m}", "limits: {max_turns: 5, stop_block_cap: 0}",
			func(m Member) any { return m.Limits }, Limits{MaxTurns: 5, TurnTimeout: time.Minute, MaxInProgress: 1, Background: 30 * time.Minute}},
		{"limits lifted", "limits: {turn_timeout: 1m, max_budget_usd: 1, max_tokens: 5k, max_in_progress: 1}",
			"limits: {turn_timeout: 0, max_budget_usd: 0, max_tokens: 0, max_in_progress: 0}",
			func(m Member) any { return m.Limits }, Limits{StopBlockCap: 8, Background: 30 * time.Minute}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := fmt.Sprintf("%slead: {model: demo}\ndefaults: {%s}\nteammates: {x: {%s}}\n",
				head, test.defaults, withAgent(test.member, test.defaults))
			team := mustParse(t, spec)
			if got := test.got(team.Teammates[0]); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %#v, want %#v in\n%s", got, test.want, spec)
			}
		})
	}
}

// withAgent gives a member something that thinks, unless the test is about that.
func withAgent(member, defaults string) string {
	for _, s := range []string{member, defaults} {
		if strings.Contains(s, "agent: ") || strings.Contains(s, "model: ") {
			return member
		}
	}
	return strings.TrimSuffix("model: demo, "+member, ", ")
}

// TestLeadInherits: the lead takes defaults too, but not the teammates' own
// default of claiming tasks.
func TestLeadInherits(t *testing.T) {
	team := mustParse(t, head+"defaults: {model: demo, limits: {max_turns: 3}}\nlead: {description: leads}\n")
	if m := team.Lead; m.SelfClaim || m.Limits.MaxTurns != 3 || m.Agent.Model.Name != "demo" || m.Name != "lead" {
		t.Errorf("lead %+v", m)
	}
	team = mustParse(t, head+"defaults: {self_claim: true}\nlead: coder\n")
	if !team.Lead.SelfClaim {
		t.Error("the lead does not inherit self_claim")
	}
}
