package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
)

// newBoard returns the board of a team. Its inbox must exist.
func newBoard(team *configs.Team, letters mail.Folder, r *rooms) *teamtools.TaskAPI {
	p := boardDeps{&r.seats, r}
	return teamtools.New(team, teamtools.Deps{
		Store: r.store, Letters: letters, Members: p, Requests: r.asks, Questions: r.asks.Questions, Plans: r.asks.Plans,
		Commands: p, Work: p, News: r.notes, Schedules: r.times,
	})
}

// boardDeps implements the ports of the board.
type boardDeps struct {
	*crew.Seats
	r *rooms
}

// Now returns a member's state, and why it takes no more turns.
func (p boardDeps) Now(name string) (state, gone string) {
	s, ok := p.r.seats.Of(name)
	if !ok {
		return "", ""
	}
	now := s.Life.State()
	return string(s.State(now)), now.Gone
}

// AskToEnd asks a member to end.
func (p boardDeps) AskToEnd(ctx context.Context, by actors.Actor, to, reason string) (mail.ShutdownRequest, error) {
	r, err := p.r.crew.AskToEnd(ctx, by, to, crew.EndOptions{Reason: reason})
	if err != nil {
		return mail.ShutdownRequest{}, fmt.Errorf("ask %s to end: %w", to, err)
	}
	return crew.ShutdownRequest(r), nil
}

// HarvestTask harvests the work on a task that has just been completed, even if the
// caller goes away.
func (p boardDeps) HarvestTask(ctx context.Context, t tasks.Task) {
	ctx, done := p.r.asks.UntilEnd(ctx)
	defer done()
	p.r.work.Merges.HarvestTask(ctx, t)
}

// Answered stores the lead's answer to its goal.
func (p boardDeps) Answered(ctx context.Context, text string) error {
	return p.r.goals.Answer(ctx, text)
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

// newTaskLister returns the tasks that a member's turn end looks at.
func newTaskLister(o *Orchestrator, r *rooms) teammate.TaskLister {
	return r.board.TaskLister(o.completesOnPass, func(text string) { r.journal.Tell(events.Warning{Text: text}) })
}

// completesOnPass reports whether the current spec completes tasks in progress when a
// turn end passes its gates.
func (o *Orchestrator) completesOnPass() bool { return o.team().CompleteOnPass }
