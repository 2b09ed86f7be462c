package teamtools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/teammate/agent"
)

// scheduleInput is a message that a member schedules to itself.
type scheduleInput struct {
	Cron      string `json:"cron,omitempty" jsonschema:"when, in local time: minute, hour, day of the month, month, day of the week, such as 30 7 * * 1-5; or @hourly, @daily, @every 20m"`
	Prompt    string `json:"prompt,omitempty" jsonschema:"the message"`
	Recurring *bool  `json:"recurring,omitempty" jsonschema:"false: it comes once; default true"`
}

// scheduleCreate schedules a message of the caller to itself.
func scheduleCreate(ctx context.Context, c call, in scheduleInput) agent.ToolResult {
	own := specs.Own{Member: c.me.Name, Cron: in.Cron, Text: in.Prompt, Once: in.Recurring != nil && !*in.Recurring}
	id, next, err := c.board.deps.Schedules.Add(ctx, c.me.CallID, own)
	if err != nil {
		return agent.Failed("%v", err)
	}
	return agent.ToolResult{Content: fmt.Sprintf("Scheduled as %s; it comes at %s.", id, next.Format(time.DateTime)),
		Response: texts.Encode(map[string]any{"id": id, "next": next, "recurring": !own.Once})}
}

// scheduleID names a schedule.
type scheduleID struct {
	ID string `json:"id,omitempty" jsonschema:"as your list of schedules says it"`
}

// scheduleDelete deletes one of the caller's schedules.
func scheduleDelete(ctx context.Context, c call, in scheduleID) agent.ToolResult {
	if err := c.board.deps.Schedules.Remove(ctx, c.me.Name, in.ID); err != nil {
		return agent.Failed("%v", err)
	}
	return agent.ToolResult{Content: "Deleted " + in.ID + "."}
}

// scheduleList lists the caller's schedules.
func scheduleList(_ context.Context, c call, _ struct{}) agent.ToolResult {
	list := c.board.deps.Schedules.Of(c.me.Name)
	lines := []string{"You have no schedules."}
	for i, s := range list {
		line := fmt.Sprintf("%s (%s): %s", s.ID, s.Schedule, s.Prompt)
		if !s.Recurring {
			line += " (once)"
		}
		lines = append(lines[:i], line)
	}
	return agent.ToolResult{Content: strings.Join(lines, "\n"), Response: texts.Encode(map[string]any{"schedules": list})}
}
