package launch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/settings"
)

// demand is something in a spec that must hold before a call runs.
type demand struct {
	what string // as in: rule "Bash(git push*)"
	// kinds are the kinds of tools that it is about; elsewhere says that it is
	// about tools beside those, too, which nobody but covey's own agent asks for.
	kinds     []string
	elsewhere bool
}

// CheckMandatory refuses a spec in which a member's agent makes calls without
// asking that a mandatory rule or hook is about. Its error, an configs.ErrSpec, lists
// all of them.
func CheckMandatory(team *configs.Team) error {
	sources, _ := team.Sources() // what is wrong with a settings file is told by loadHooks
	return CheckDemands(team, sources, LookPath)
}

// CheckDemands is checkMandatory for these layers of hooks, with the programs that
// look finds.
func CheckDemands(team *configs.Team, sources []settings.Source, look func(string) (string, error)) error {
	mandatory := func(h hooks.Handler) bool { return h.Mandatory }
	everybody := hookDemands(sources, "", mandatory)
	var errs []error
	for _, m := range team.Members() {
		held := honoursOf(m.Agent, look)
		for _, d := range slices.Concat(ruleDemands(m), planDemands(m), everybody, hookDemands(sources,
			m.Name, mandatory)) {
			if open := d.unheld(held); len(open) > 0 {
				d.what = "mandatory " + d.what
				errs = append(errs, notation.Errorf(configs.ErrSpec, "%s", refusal(team, m, d, look)))
			}
		}
	}
	return errors.Join(errs...)
}

// unheld are the kinds of tools for which a demand does not hold.
func (d demand) unheld(h Honours) []string {
	var open []string
	for _, kind := range d.kinds {
		if h.Tools[kind] != Enforced {
			open = append(open, kind)
		}
	}
	if d.elsewhere && h.MCP != "builtin" {
		open = append(open, "other")
	}
	return open
}

// ruleDemands are the mandatory rules of a member.
func ruleDemands(m configs.Member) []demand {
	var list []demand
	for _, text := range m.Permissions.Mandatory {
		rule, err := rules.Parse(text)
		if err != nil {
			continue // permissionsOf tells of it
		}
		d := demand{what: fmt.Sprintf("rule %q", text)}
		d.about(rule)
		list = append(list, d)
	}
	return list
}

// planDemands is what a plan that must be approved asks of an agent: that it does
// nothing before without asking. Else the approval would come after the fact.
func planDemands(m configs.Member) []demand {
	if !m.PlanRequired {
		return nil
	}
	return []demand{{what: `"plan: required"`, kinds: []string{"Bash", "Edit", "Write"}}}
}

// hookDemands are the hooks before a call that count, of the layers that are for one member
// alone or, if that is empty, for all. Helpers need none: covey makes their calls.
func hookDemands(sources []settings.Source, member string, counts func(hooks.Handler) bool) []demand {
	var list []demand
	for _, s := range sources {
		if s.Member != member || s.Helper != "" {
			continue
		}
		for _, event := range []hooks.Event{hooks.PreToolUse, hooks.PermissionRequest} {
			for _, g := range s.Settings[event] {
				for _, h := range g.Hooks {
					if counts(h) {
						list = append(list, hookDemand(event, g, h))
					}
				}
			}
		}
	}
	return list
}

// hookDemand is what a mandatory hook asks for: all calls that its matcher and
// its `if` let through to it.
func hookDemand(event hooks.Event, g hooks.Group, h hooks.Handler) demand {
	d := demand{what: fmt.Sprintf("%s hook %q", event, notation.Preview(cmp.Or(h.Command, h.URL, h.Prompt, h.Tool), 60))}
	if rule, err := rules.Parse(h.If); err == nil {
		d.about(rule)
	} else {
		d.kinds, d.elsewhere = ToolKinds(), true
	}
	d.kinds = slices.DeleteFunc(d.kinds, func(kind string) bool {
		return !slices.ContainsFunc(toolsOf(kind), func(tool string) bool { return settings.Listens(g, event, tool) })
	})
	// A matcher of plain names is about those alone; any other may be about tools
	// that nobody knows yet.
	d.elsewhere = d.elsewhere && settings.Listens(g, event, "AToolOfAnotherName")
	return d
}

// about makes a demand one about the tools of a rule. Rules for team tools ask
// for nothing: covey itself carries those out.
func (d *demand) about(rule rules.Rule) {
	bare, err := rules.Parse(rule.Tool)
	if err != nil || isTeamTool(rule.Tool) {
		return
	}
	for _, kind := range ToolKinds() {
		if slices.ContainsFunc(toolsOf(kind), func(tool string) bool { return bare.Forbids(rules.Call{Tool: tool}) }) {
			d.kinds = append(d.kinds, kind)
		}
	}
	switch {
	case len(d.kinds) > 0:
	case strings.HasPrefix(rule.Tool, "mcp__"):
		d.kinds = []string{mcpTools}
	default:
		d.elsewhere = true
	}
}

// isTeamTool reports whether a rule's tool is one of the team tools, under the
// builtin agent's name or behind covey's MCP server.
func isTeamTool(tool string) bool {
	return tool == "SendMessage" || slices.Contains([]string{"TaskCreate", "TaskGet", "TaskUpdate", "TaskList"}, tool) ||
		tool == "mcp__"+MCPName || strings.HasPrefix(tool, "mcp__"+MCPName+"__")
}

// refusal says why a demand cannot hold for a member, and what can be done.
func refusal(team *configs.Team, m configs.Member, d demand, look func(string) (string, error)) string {
	var able, here []string
	if len(d.unheld(builtinHonours())) == 0 {
		able = append(able, string(configs.Builtin))
	}
	for _, p := range presets() {
		if len(d.unheld(honoursOf(configs.Agent{Kind: configs.ACP, Preset: p.name}, look))) == 0 {
			able = append(able, string(p.name))
		}
	}
	for _, other := range team.Members() {
		if len(d.unheld(honoursOf(other.Agent, look))) == 0 {
			here = append(here, other.Name)
		}
	}
	text := fmt.Sprintf("member %s: the %s cannot hold: agent %s makes such calls without asking, and covey "+
		"sees them afterwards; agents that ask first: %s", m.Name, d.what, AgentTitle(m.Agent), strings.Join(able, ", "))
	if len(here) > 0 {
		text += "; members of this team whose agents do: " + strings.Join(here, ", ")
	}
	return text
}

// AgentTitle is what an agent is called in messages.
func AgentTitle(a configs.Agent) string {
	switch {
	case a.Name != "":
		return a.Name
	case a.Preset != "":
		return string(a.Preset)
	}
	return string(a.Kind)
}
