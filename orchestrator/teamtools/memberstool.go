package teamtools

import (
	"context"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/teammate/agent"
)

// rosterEntry is a member as the others see it.
type rosterEntry struct {
	Name        string `json:"name"`
	Lead        bool   `json:"lead"`
	Agent       string `json:"agent"`
	Description string `json:"description,omitempty"`
	State       string `json:"state"`
}

// listMembers lists who has a place in the team. It marks the one who asks, so that it does
// not write to itself.
func listMembers(_ context.Context, c call, _ struct{}) agent.ToolResult {
	var all []rosterEntry
	var lines []string
	for _, name := range c.board.names() {
		m, ok := c.board.ports.Members.Member(name)
		if !ok {
			continue
		}
		one := rosterEntry{
			Name: name, Lead: m.Lead, Agent: roster.AgentTitle(m.CurrentAgent()), Description: m.Description,
		}
		one.State, _ = c.board.ports.Members.Now(name)
		line := one.line(c.me.Name)
		if c.names == MCPNames { // their models see the text alone
			line += " [" + one.Agent + "]"
		}
		all, lines = append(all, one), append(lines, line)
	}
	return agent.ToolResult{Content: strings.Join(lines, "\n"), Response: notation.Encode(struct {
		Members []rosterEntry `json:"members"`
	}{all})}
}

// line is a member in words, as the member called me sees it.
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

// submitPlan puts the caller's plan before its approver.
func submitPlan(ctx context.Context, c call, in inbox.PlanInput) agent.ToolResult {
	return c.board.ports.Plans.Submit(ctx, c.member, c.me.Actor, in, c.me.Fire)
}
