package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
)

// untriggered checks that an agent of the team can fire the event in a way that the
// hook's matcher and `if` let through. It reports nothing if that is uncertain, as
// for an agent program with tools of its own. Settings files are shared with other
// hosts, so it is only a warning.
func (x *hookExam) untriggered(h *runner.Configured, info hooks.EventInfo) flaw {
	if h.Never != "" || !info.Fires || x.set.Team == nil {
		return flaw{}
	}
	ofServers := h.Event == hooks.Elicitation || h.Event == hooks.ElicitationResult
	if ofServers && len(x.set.Servers) == 0 {
		return flaw{"nothing fires it in this team: it has no MCP servers",
			"delete it, or add a server under mcp_servers", true}
	}
	if len(x.set.Team.MCPServers) > 0 && strings.Contains(h.Matcher+h.Handler.If, "mcp__") {
		return flaw{} // which tools a server has is known once it runs
	}
	group := hooks.Group{Matcher: h.Matcher, Hooks: []hooks.Handler{h.Handler}}
	fits := func(value string) bool { return settings.Listens(group, h.Event, value) }
	if len(info.Fired) > 0 && !slices.ContainsFunc(info.Fired, fits) {
		return flaw{fmt.Sprintf("the matcher %q never fits: covey fires %s only with %s", h.Matcher, h.Event, strings.Join(info.Fired, ", ")),
			"correct the matcher, or leave it if another host reads it", true}
	}
	rule, err := rules.Parse(h.Handler.If)
	holds := func(tool string) bool {
		return fits(tool) && (h.Handler.If == "" || err != nil || rule.MayFire(tool))
	}
	var all []teamhooks.Trigger
	for _, t := range x.triggers[h.Event] {
		switch {
		case h.Source.Member != "" && h.Source.Member != t.Member:
			continue
		case t.Open, slices.ContainsFunc(t.Values, holds):
			return flaw{}
		}
		all = append(all, t)
	}
	values := func(t teamhooks.Trigger) bool { return slices.ContainsFunc(t.Values, fits) }
	switch {
	case len(all) == 0:
		return flaw{}
	case slices.ContainsFunc(all, values):
		return flaw{fmt.Sprintf("its if %q never holds: %s", h.Handler.If, lacks(all)),
			"give a member the tool, or correct the if", true}
	case !slices.ContainsFunc(all, func(t teamhooks.Trigger) bool { return len(t.Values) > 0 }):
		return flaw{"nothing fires it in this team: " + lacks(all), "delete it, or leave it if another host reads it", true}
	}
	return flaw{fmt.Sprintf("the matcher %q never fits: %s", h.Matcher, lacks(all)),
		"give a member the tool, correct the matcher, or delete the hook", true}
}

// lacks lists why some members fire nothing, grouped by reason.
func lacks(list []teamhooks.Trigger) string {
	var reasons []string
	members := map[string][]string{}
	for _, t := range list {
		if members[t.Why] == nil {
			reasons = append(reasons, t.Why)
		}
		members[t.Why] = append(members[t.Why], t.Member)
	}
	for i, why := range reasons {
		reasons[i] = texts.Few(members[why], 10) + " (" + why + ")"
	}
	return strings.Join(reasons, "; ")
}

// teamTriggers determines for each event what the members of a team can fire.
func (x *hookExam) teamTriggers(list []runner.Configured) error {
	x.triggers = map[hooks.Event][]teamhooks.Trigger{}
	if x.set.Team == nil {
		return nil
	}
	agents := slices.ContainsFunc(list, func(h runner.Configured) bool { return h.Handler.Type == "agent" })
	for event := range x.infos {
		triggers, err := teamhooks.Triggers(x.set.Team, event, agents)
		if err != nil {
			return err
		}
		x.triggers[event] = triggers
	}
	return nil
}
