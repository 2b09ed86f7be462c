package teamtools

import (
	"context"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/agent"
)

// rosterEntry is a member in the result of ListMembers.
type rosterEntry struct {
	Name        string `json:"name"`
	Lead        bool   `json:"lead"`
	Agent       string `json:"agent"`
	Description string `json:"description,omitempty"`
	State       string `json:"state"`
}

// listMembers lists the members of the team. It marks the caller, so that it does
// not write to itself.
func listMembers(_ context.Context, c call, _ struct{}) agent.ToolResult {
	var all []rosterEntry
	var lines []string
	for _, name := range c.board.names() {
		m, ok := c.board.deps.Members.Member(name)
		if !ok {
			continue
		}
		one := rosterEntry{
			Name: name, Lead: m.Lead, Agent: members.AgentTitle(m.CurrentAgent()), Description: m.Description,
		}
		one.State, _ = c.board.deps.Members.Now(name)
		line := one.line(c.me.Name)
		if c.names == MCPNames { // many agent programs show their model only the text
			line += " [" + one.Agent + "]"
		}
		all, lines = append(all, one), append(lines, line)
	}
	return agent.ToolResult{Content: strings.Join(lines, "\n"), Response: texts.Encode(struct {
		Members []rosterEntry `json:"members"`
	}{all})}
}

// line returns a member as one line of text for the member named me.
func (m rosterEntry) line(me string) string {
	text := m.Name
	if m.Lead {
		text += " (lead)"
	}
	if m.Name == me {
		text += " (you)"
	}
	text += ": " + m.State
	if m.Description != "" {
		text += " - " + m.Description
	}
	return text
}

// submitPlan submits the caller's plan to its approver.
func submitPlan(ctx context.Context, c call, in inbox.PlanInput) agent.ToolResult {
	return c.board.deps.Plans.Submit(ctx, c.member, c.me.Actor, in, c.me.Fire)
}
