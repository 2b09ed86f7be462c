package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
)

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
			for _, m := range team.Members() {
				if !slices.ContainsFunc(team.AgentsOf(m),
					func(b configs.Agent) bool { return AgentTitle(b) == s.Agent }) {
					continue
				}
				s.Members = append(s.Members, m.Name)
				s.Unenforced = append(s.Unenforced, unenforcedOf(m, layers, held)...)
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
