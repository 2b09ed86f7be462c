package launch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
)

// demand is a requirement of a spec that must hold before a call runs.
type demand struct {
	what string // as in: rule "Bash(git push*)"
	// kinds are the kinds of tools that it concerns. elsewhere says that it concerns
	// other tools as well, for which only covey's own agent asks.
	kinds     []string
	elsewhere bool
}

// CheckMandatory refuses a spec in which a mandatory rule or hook concerns calls that a
// member's agent makes without asking. Its error, a configs.ErrSpec, lists all of them.
func CheckMandatory(team *configs.Team) error {
	sources, _ := team.Sources() // problems of settings files are reported where hooks are loaded
	return CheckDemands(team, sources, LookPath)
}

// CheckDemands is CheckMandatory for these layers of hooks, with the programs that look
// finds.
func CheckDemands(team *configs.Team, sources []settings.Source, look func(string) (string, error)) error {
	mandatory := func(h hooks.Handler) bool { return h.Mandatory }
	everybody := hookDemands(sources, "", mandatory)
	var errs []error
	for m := range team.EachAndTemplates() {
		held := honoursOf(m.Agent, look).in(m.Sandbox)
		for _, d := range slices.Concat(ruleDemands(*m), planDemands(*m), everybody, hookDemands(sources,
			m.Name, mandatory)) {
			if open := d.unmet(held); len(open) > 0 {
				d.what = "mandatory " + d.what
				errs = append(errs, texts.Errorf(configs.ErrSpec, "%s", refusal(team, *m, d, look)))
			}
		}
	}
	return errors.Join(errs...)
}

// unmet returns the kinds of tools for which a demand does not hold.
func (d demand) unmet(h Honours) []string {
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

// ruleDemands returns the mandatory rules of a member.
func ruleDemands(m configs.Member) []demand {
	var list []demand
	for _, text := range m.Permissions.Mandatory {
		rule, err := rules.Parse(text)
		if err != nil {
			continue // permissionsOf reports it
		}
		d := demand{what: fmt.Sprintf("rule %q", text)}
		if d.about(rule); rule.Tool == "Read" && rule.Spec != "" { // such a rule binds the shell, too
			d.kinds = append(d.kinds, "Bash")
		}
		list = append(list, d)
	}
	return list
}

// planDemands returns what a plan that needs approval requires of an agent: it must ask
// before it acts, or the approval would come too late.
func planDemands(m configs.Member) []demand {
	if !m.PlanRequired {
		return nil
	}
	return []demand{{what: `"plan: required"`, kinds: []string{"Bash", "Edit", "Write"}}}
}

// hookDemands returns the PreToolUse hooks that count, of the layers for one member or,
// if member is empty, for all. Helpers need none, because covey makes their calls.
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

// hookDemand returns what a mandatory hook requires: it concerns all calls that its
// matcher and its `if` select.
func hookDemand(event hooks.Event, g hooks.Group, h hooks.Handler) demand {
	d := demand{what: fmt.Sprintf("%s hook %q", event, texts.Preview(cmp.Or(h.Command, h.URL, h.Prompt, h.Tool), 60))}
	if rule, err := rules.Parse(h.If); err == nil {
		d.about(rule)
	} else {
		d.kinds, d.elsewhere = ToolKinds(), true
	}
	d.kinds = slices.DeleteFunc(d.kinds, func(kind string) bool {
		return !slices.ContainsFunc(toolsOf(kind), func(tool string) bool { return settings.Listens(g, event, tool) })
	})
	// A matcher of plain names selects only those; any other may select unknown tools.
	d.elsewhere = d.elsewhere && settings.Listens(g, event, "AToolOfAnotherName")
	return d
}

// about limits a demand to the tools of a rule. Rules for team tools require nothing,
// because covey executes those.
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

// isTeamTool reports whether a rule's tool is one of the team tools, under the builtin
// agent's name or that of covey's MCP server.
func isTeamTool(tool string) bool {
	return tool == "SendMessage" || slices.Contains([]string{"TaskCreate", "TaskGet", "TaskUpdate", "TaskList"}, tool) ||
		tool == "mcp__"+MCPName || strings.HasPrefix(tool, "mcp__"+MCPName+"__")
}

// refusal explains why a demand cannot hold for a member, and what the operator can do.
func refusal(team *configs.Team, m configs.Member, d demand, look func(string) (string, error)) string {
	var able, here []string
	if len(d.unmet(builtinHonours())) == 0 {
		able = append(able, string(configs.Builtin))
	}
	for _, p := range presets() {
		if len(d.unmet(honoursOf(configs.Agent{Kind: configs.ACP, Preset: p.name}, look))) == 0 {
			able = append(able, string(p.name))
		}
	}
	for other := range team.EachAndTemplates() {
		if len(d.unmet(honoursOf(other.Agent, look).in(other.Sandbox))) == 0 {
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

// AgentTitle returns the name of an agent for messages.
func AgentTitle(a configs.Agent) string {
	switch {
	case a.Name != "":
		return a.Name
	case a.Preset != "":
		return string(a.Preset)
	}
	return string(a.Kind)
}

// StandIn is an installed program that serves an agent of a spec, although another one, which is
// not installed, would ask before it acts. The operator must know what that costs before the team
// runs.
type StandIn struct {
	Agent   string   `json:"agent"`   // name in the spec
	Path    string   `json:"path"`    // path of the program that serves
	Adapter string   `json:"adapter"` // the program that is missing
	Install string   `json:"install"` // how to install it, for people
	Members []string `json:"members"` // members that use the agent, or may fall back to it
	// Unenforced describes what the spec requires of these members and covey only
	// detects afterwards: rules, hooks, permission modes.
	Unenforced []string `json:"unenforced"`
}

// StandIns lists the stand-ins of a team on this machine, in the order of its members.
// A program with which everything is enforced is not one.
func StandIns(team *configs.Team) []StandIn {
	var list []StandIn
	layers := team.Layers(nil)
	for _, a := range AgentsInUse(team) {
		if slices.ContainsFunc(list, func(s StandIn) bool { return s.Agent == AgentTitle(a) }) {
			continue
		}
		if s, held, ok := standIn(a, team.Workspace); ok {
			for m := range team.EachAndTemplates() {
				if !slices.ContainsFunc(team.AgentsOf(*m),
					func(b configs.Agent) bool { return AgentTitle(b) == s.Agent }) {
					continue
				}
				s.Members = append(s.Members, m.Name)
				s.Unenforced = append(s.Unenforced, unenforcedOf(*m, layers, held)...)
			}
			s.Unenforced = append(s.Unenforced, unenforcedOfAll(layers, held)...)
			if len(s.Unenforced) > 0 {
				list = append(list, s)
			}
		}
	}
	return list
}

// standIn reports whether an agent's program stands in for one that asks.
func standIn(a configs.Agent, workspace string) (s StandIn, held Honours, ok bool) {
	p, known := presetOf(a.Preset)
	if !known || len(a.Command) > 0 {
		return s, held, false
	}
	l, err := findProgram(a, workspace)
	best := p.programs[0]
	if err != nil || l.program.kind != configs.Command || best.kind != configs.ACP {
		return s, held, false
	}
	s = StandIn{Agent: AgentTitle(a), Path: l.argv[0], Adapter: best.bin, Install: howToInstall(p.install, p.node)}
	return s, l.program.honours, true
}

// unenforcedOf lists the requirements for one member that do not hold with an agent
// that honours held.
func unenforcedOf(m configs.Member, l configs.Layers, held Honours) []string {
	var list []demand
	if m.PermissionMode != configs.BypassPermissions {
		list = append(list, demand{
			what: fmt.Sprintf("permission_mode %s (what nobody has allowed is not held up)",
				cmp.Or(m.PermissionMode, configs.Default)),
			kinds: ToolKinds(), elsewhere: true,
		})
	}
	if m.Tools != nil {
		list = append(list, demand{what: "tools [" + strings.Join(m.Tools, ", ") + "]", kinds: ToolKinds(),
			elsewhere: true})
	}
	list = slices.Concat(list, rulesOf("deny", m.Permissions.Deny), rulesOf("ask", m.Permissions.Ask),
		hookDemands(l.Sources, m.Name, decides))
	return unmet(m.Name, list, held)
}

// unenforcedOfAll lists those for all members.
func unenforcedOfAll(l configs.Layers, held Honours) []string {
	return slices.Concat(
		unmet("settings", slices.Concat(rulesOf("deny", l.Permissions.Deny), rulesOf("ask", l.Permissions.Ask)), held),
		unmet("all members", hookDemands(l.Sources, "", decides), held))
}

// decides reports whether a hook does more than observe.
func decides(h hooks.Handler) bool { return h.Mode == "" }

// unmet describes the demands that do not hold, each prefixed with whose.
func unmet(whose string, demands []demand, held Honours) []string {
	var list []string
	for _, d := range demands {
		if len(d.unmet(held)) > 0 {
			list = append(list, whose+": "+d.what)
		}
	}
	return list
}

// rulesOf returns the demands of rules of one kind.
func rulesOf(kind string, texts []string) []demand {
	var list []demand
	for _, text := range texts {
		rule, err := rules.Parse(text)
		if err != nil {
			continue // permissionsOf reports it
		}
		d := demand{what: kind + " " + text}
		d.about(rule)
		list = append(list, d)
	}
	return list
}
