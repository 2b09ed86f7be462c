package teamtools

import (
	"context"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// spawnInput is the input of TeammateSpawn.
type spawnInput struct {
	Template string `json:"template" jsonschema:"one of the spec's templates"`
	Name     string `json:"name" jsonschema:"what the new teammate is called; nobody was called so before"`
	Task     string `json:"task,omitempty" jsonschema:"what it is to do, and when that counts as done; without it, it takes a ready task"`
}

// spawns reports whether a member may add teammates.
func spawns(m *members.Member, _ ToolNames) bool { return len(m.Spawns) > 0 }

// spawn adds a teammate, with a task of its own. A call that is repeated after a crash adds what
// is missing.
func spawn(ctx context.Context, c call, in spawnInput) agent.ToolResult {
	if err := c.board.deps.Templates.Spawn(ctx, c.me.Actor, in.Template, in.Name); err != nil {
		return agent.Failed("%v", err)
	}
	said := fmt.Sprintf("%s is in the team", in.Name)
	if strings.TrimSpace(in.Task) == "" {
		return agent.ToolResult{Content: said + "."}
	}
	n := tasks.New{Subject: mail.Summary(in.Task), Owner: in.Name}
	if in.Task != n.Subject {
		n.Description = in.Task
	}
	t, err := c.board.Create(ctx, c.me, n)
	if err != nil {
		return agent.Failed("%s, without its task: %v", said, err)
	}
	return agent.ToolResult{Content: fmt.Sprintf("%s, with task #%s: %s", said, t.ID, t.Subject)}
}
