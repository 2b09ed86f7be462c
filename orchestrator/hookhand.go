package orchestrator

import (
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/teammate/script"
)

// HookHand is what the hooks of a team ask, for events that are fired by hand
// while no team runs: its models, and the MCP servers of its plugins. Agent hooks
// have the lead's permissions, and their calls meet no hooks. Close it.
type HookHand struct {
	o *Orchestrator
	c *crew
}

// ByHand makes a HookHand. It starts nothing. Programs that members need may be
// missing; what else is wrong with the team is an error, which wraps configs.ErrSpec.
func ByHand(team *configs.Team) (*HookHand, error) {
	checked, _, wrong := check(team, nil)
	if wrong != nil {
		return nil, fmt.Errorf("%w:\n%w", configs.ErrSpec, wrong)
	}
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return nil, err
	}
	o := (&Orchestrator{place: place}).designed(design{team: team, scripts: checked.scripts, hooks: checked.hooks})
	c := &crew{processes: process.New(""), trees: &trees.Trees{}}
	for _, m := range spots(o.team()) {
		// Any session that is fired for is nobody's, so the lead's seat serves it.
		s := &seat{member: &roster.Member{Member: m, Lead: len(c.seats()) == 0}, crew: c}
		s.member.Session.Session = "by hand: " + m.Name
		if s.permissions, err = permissionsOf(*m, o.hooks().settings); err != nil {
			return nil, err
		}
		c.sit(s)
	}
	c.servers = o.newHookServers(c, o.hooks().servers)
	return &HookHand{o: o, c: c}, nil
}

// Models answers prompt and agent hooks.
func (h *HookHand) Models() runner.Model {
	return &hookModels{o: h.o, c: h.c, asked: map[askedBy]*script.Model{}}
}

// Tools makes the calls of mcp_tool hooks. The team's own tools need a team.
func (h *HookHand) Tools() runner.Tools { return &hookTools{c: h.c, servers: h.c.servers} }

// Close ends the servers that were started.
func (h *HookHand) Close() error { return h.c.servers.close() }
