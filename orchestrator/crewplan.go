package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// PlanToolName is the team tool by which an agent program submits its plan.
const PlanToolName = mcpPlan

// mcpPlan is the tool over MCP.
const mcpPlan = "team_submit_plan"

// planDescription says what the tool is for.
const planDescription = "Submit your plan for approval. Until it is approved you may only read. A message will tell you the " +
	"answer: end your turn after this call, and begin with the work when the plan is approved."

// planTool makes the tool for a member under a name.
func (s *seat) planTool(name string) (agent.Tool, error) {
	return newTeamTool(name, planDescription, map[string]string{"text": "plan", "content": "plan"},
		func(ctx context.Context, callID string, in inbox.PlanInput) agent.ToolResult {
			return s.crew.asks.Plans.Submit(ctx, s.member, s.actor(callID).Actor, in, s.mate.Fire)
		})
}

// foreignTools are the team tools of a member whose agent is a program.
func (s *seat) foreignTools() ([]foreignTool, error) {
	list, err := foreignTools(s.crew.board, s.actor, s.crew.roster)
	if err != nil || !s.member.PlanRequired {
		return list, err
	}
	plan, err := s.planTool(mcpPlan)
	return append(list, foreignTool{Tool: plan}), err
}

// mayFinish refuses the completion of a task by a member that has not begun: a
// plan that nobody has approved did nothing.
//
// Who need not plan may always, and so may a name that is no member's. The words name
// the tool by the name under which the member's agent knows it.
func (c *crew) mayFinish(member string) error {
	if s, ok := c.seat(member); ok && c.asks.Plans.MustPlan(s.member) {
		return wording.Errorf(tasks.ErrTransition, "your plan is not approved yet, so no task of yours can be completed; "+
			"submit the plan with %s and wait for the answer", tongueOf(s.member.CurrentAgent()).planning())
	}
	return nil
}

// planning names the way to submit a plan.
func (t tongue) planning() string {
	switch t {
	case byMCP:
		return mcpPlan
	case byShell:
		return "`" + coveyShell + " plan -`"
	}
	return inbox.PlanTool
}

// planPrompt tells a member that must plan what that means; empty for others.
func planPrompt(m configs.Member) string {
	if !m.PlanRequired {
		return ""
	}
	return "You must plan first: until your plan is approved you may only read. Look around, then submit your plan with " +
		tongueOf(m.Agent).planning() + ", end your turn, and wait for the answer.\n"
}
