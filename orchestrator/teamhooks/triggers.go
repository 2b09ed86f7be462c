package teamhooks

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
	"github.com/coveyteam/covey/teammate/builtin/tools"
)

// Trigger describes which values of an event a member's agent can fire.
type Trigger struct {
	Member string
	// Open is set if the values cannot be listed, as for an agent program that has its own
	// tools. Values is nil then.
	Open bool
	// Values are all possible values of the event's matcher field. If there are none, the
	// agent never fires the event.
	Values []string
	Why    string // why nothing else comes from the member, for people
}

// Triggers returns what each member of a team can fire of an event, in the order of the
// members and templates. A trigger is open where that is uncertain. agentHooks is set if the team has hooks
// of type agent, whose agents call tools on behalf of the member.
func Triggers(team *configs.Team, event hooks.Event, agentHooks bool) ([]Trigger, error) {
	var list []Trigger
	for m := range team.EachAndTemplates() {
		t, who := Trigger{Member: m.Name}, &members.Member{Member: m, Lead: m == &team.Lead}
		var why []string
		// A member may come to work with each of its fallbacks, and what one of them can
		// fire counts.
		for _, a := range team.AgentsOf(*m) {
			values, open, err := firedBy(who, a, event)
			if err != nil {
				return nil, err
			}
			t.Open = t.Open || open
			t.Values = append(t.Values, values...)
			why = append(why, lackWords(a, values))
		}
		if agentHooks && aboutTools(event) {
			for _, tool := range VerifierTools() {
				if members.MayUse(m.Tools, tool) {
					t.Values = append(t.Values, tool)
				}
			}
		}
		slices.Sort(t.Values)
		slices.Sort(why)
		t.Values, t.Why = slices.Compact(t.Values), strings.Join(slices.Compact(why), ", or ")
		if t.Open {
			t.Values = nil
		}
		list = append(list, t)
	}
	return list, nil
}

// firedBy returns the values of an event that an agent of a member can fire, as in the table
// in docs/hooks.md.
func firedBy(m *members.Member, a configs.Agent, event hooks.Event) (values []string, open bool, err error) {
	own := isOwn(a)
	switch event {
	case hooks.SubagentStart, hooks.SubagentStop:
		return nil, a.Kind == configs.Builtin && members.MayUse(m.Tools, builtin.AgentTool), nil
	case hooks.UserPromptExpansion, hooks.InstructionsLoaded, hooks.PostToolBatch:
		return nil, own, nil
	case hooks.CwdChanged:
		return nil, own && members.MayUse(m.Tools, "Bash"), nil
	case hooks.DirectoryAdded:
		return nil, a.Kind != configs.Command, nil
	}
	switch {
	case !aboutTools(event):
		return nil, true, nil
	case own:
		values, err = ownTools(m, a)
		return values, false, err
	case a.Kind != configs.Command, event == hooks.PostToolUse, event == hooks.PostToolUseFailure:
		return nil, true, nil
	}
	// A program that runs once per prompt reports its calls after it has made them. Hooks run
	// before a call only for the team tools, because covey carries them out.
	if event == hooks.PreToolUse {
		values, err = programTeamTools(m)
	}
	if m.PlanRequired && event == hooks.PermissionRequest {
		values = append(values, inbox.PlanTool)
	}
	return values, false, err
}

// isOwn reports whether covey runs an agent's tools itself.
func isOwn(a configs.Agent) bool {
	return a.Kind == configs.Builtin || a.Kind == configs.Given || a.Kind == ""
}

// aboutTools reports whether an event is about one call of a tool.
func aboutTools(event hooks.Event) bool {
	return slices.Contains([]hooks.Event{hooks.PreToolUse, hooks.PermissionRequest, hooks.PermissionDenied,
		hooks.PostToolUse, hooks.PostToolUseFailure}, event)
}

// ownTools returns the names of the tools that covey gives a member.
func ownTools(m *members.Member, a configs.Agent) ([]string, error) {
	team, err := teamtools.Describe(teamtools.BuiltinNames, m)
	if err != nil {
		return nil, err
	}
	names := namesOf(team)
	for _, name := range namesOf(tools.New(tools.Env{}).List()) {
		if members.MayUse(m.Tools, name) {
			names = append(names, name)
		}
	}
	if members.MayUse(m.Tools, tools.SkillTool) { // there may be skills later
		names = append(names, tools.SkillTool)
	}
	if a.Kind != configs.Given && members.MayUse(m.Tools, builtin.AgentTool) {
		names = append(names, builtin.AgentTool)
	}
	return names, nil
}

// programTeamTools returns the names in hooks of the team tools of an agent program.
func programTeamTools(m *members.Member) ([]string, error) {
	list, err := teamtools.Describe(teamtools.MCPNames, m)
	if err != nil {
		return nil, err
	}
	names := namesOf(list)
	for i, name := range names {
		names[i] = mcp.ToolName(name)
	}
	return names, nil
}

// namesOf returns the names of tools.
func namesOf[T interface{ Spec() agent.Spec }](tools []T) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Spec().Name
	}
	return names
}

// lackWords explains to people why an agent fires no other values.
func lackWords(a configs.Agent, values []string) string {
	switch {
	case !isOwn(a) && len(values) > 0:
		return launch.AgentTitle(a) + " is run once a prompt, and hooks are asked about its team tools alone"
	case !isOwn(a):
		return "the program " + launch.AgentTitle(a) + " never fires it"
	case len(values) == 0:
		return "without the tool for it"
	}
	return "no such tool"
}
