package orchestrator

import (
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/mail"
)

// newBoard returns the task API of a team.
func newBoard(o *Orchestrator, r *rooms) *teamtools.TaskAPI {
	return teamtools.New(o.team(), teamtools.Deps{
		Store: r.store, Letters: mail.Folder(o.place.Mail()), Clock: r.clock, Members: &r.seats,
		Requests: r.asks, Questions: r.asks.Questions, Plans: r.asks.Plans, Work: r.work.Merges, Goals: r.goals, News: r.notes,
		Schedules: r.times, Templates: r.templates,
	})
}

// mcpMembers implements the ports of the MCP server for team tools.
type mcpMembers struct{ r *rooms }

// Caller returns a member in its current life.
func (p mcpMembers) Caller(member string) (*mcp.Caller, error) {
	if s, ok := p.r.seats.Of(member); ok {
		return s.Caller(), nil
	}
	return nil, p.r.board.NoSeat(member)
}

// completesOnPass reports whether the current spec completes tasks in progress when a
// turn end passes its gates.
func (o *Orchestrator) completesOnPass() bool { return o.team().CompleteOnPass }
