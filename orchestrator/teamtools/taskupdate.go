package teamtools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// statusDeleted is an action of TaskUpdate, not a state of a task.
const statusDeleted = "deleted"

// taskUpdateInput changes the fields that are in it; hence its texts are pointers. An empty
// owner gives the task back.
type taskUpdateInput struct {
	TaskID       string                     `json:"taskId" jsonschema:"the task's id"`
	Status       string                     `json:"status,omitempty" jsonschema:"pending, in_progress, completed or deleted"`
	Subject      *string                    `json:"subject,omitempty" jsonschema:"new title"`
	Description  *string                    `json:"description,omitempty" jsonschema:"new description"`
	ActiveForm   *string                    `json:"activeForm,omitempty" jsonschema:"shown while it is in progress"`
	Owner        *string                    `json:"owner,omitempty" jsonschema:"a member's name; empty gives it back"`
	AddBlocks    []string                   `json:"addBlocks,omitempty" jsonschema:"ids of tasks that wait for this one"`
	AddBlockedBy []string                   `json:"addBlockedBy,omitempty" jsonschema:"ids of tasks that this one waits for"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty" jsonschema:"merged; null deletes a key"`
	Evidence     json.RawMessage            `json:"evidence,omitempty" jsonschema:"what shows that it is done; a file goes into metadata as evidence: {file: path}"`
}

// taskUpdated is the structured answer of TaskUpdate.
type taskUpdated struct {
	Success       bool          `json:"success"`
	TaskID        string        `json:"taskId"`
	UpdatedFields []string      `json:"updatedFields"`
	Error         string        `json:"error,omitempty"`
	Awaits        string        `json:"awaits,omitempty"` // whose answer the change waits for
	StatusChange  *statusChange `json:"statusChange,omitempty"`
}

// statusChange is in the answer only if the status has changed.
type statusChange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// taskUpdate changes a task. It reads the task first only to say what its status was; the
// board and the store decide on the task as it is when it changes.
func taskUpdate(ctx context.Context, c call, in taskUpdateInput) agent.ToolResult {
	if in.Status == statusDeleted {
		// Not looked up before: a repeated call finds its receipt and no task.
		gone, err := c.board.Remove(ctx, c.me, in.TaskID)
		if err != nil {
			return c.notUpdated(in.TaskID, err)
		}
		return c.updated(gone, statusDeleted, []string{"deleted"})
	}
	before, err := c.board.ports.Store.Task(ctx, in.TaskID)
	if err != nil {
		return c.notUpdated(in.TaskID, err)
	}
	patch, err := in.patch(c.board)
	if err != nil {
		return c.notUpdated(in.TaskID, err)
	}
	after, fields, err := c.board.Update(ctx, c.me, in.TaskID, patch)
	if err != nil {
		return c.notUpdated(in.TaskID, err)
	}
	return c.updated(before, string(after.Status), fields)
}

// patch returns the change that the input asks for.
func (in taskUpdateInput) patch(b *Board) (tasks.Patch, error) {
	p := tasks.Patch{
		Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm,
		AddBlocks: in.AddBlocks, AddBlockedBy: in.AddBlockedBy, Metadata: in.Metadata,
	}
	if in.Owner != nil {
		owner := *in.Owner
		if owner != "" {
			owner = b.resolve(owner)
		}
		p.Owner = &owner
	}
	switch s := tasks.Status(in.Status); s {
	case "":
	case tasks.Pending, tasks.InProgress, tasks.Completed:
		p.Status = &s
	default:
		return p, fmt.Errorf("status %q is none of pending, in_progress, completed, deleted: %w", in.Status,
			tasks.ErrTransition)
	}
	return withEvidence(p, in.Evidence)
}

// updated is the answer to a change that was made.
func (c call) updated(before tasks.Task, status string, fields []string) agent.ToolResult {
	answer := taskUpdated{Success: true, TaskID: before.ID, UpdatedFields: fields}
	if answer.UpdatedFields == nil {
		answer.UpdatedFields = []string{}
	}
	if string(before.Status) != status {
		answer.StatusChange = &statusChange{From: string(before.Status), To: status}
	}
	text := answer.text()
	if c.names == MCPNames {
		text = answer.factsText()
	}
	return agent.ToolResult{Content: text, Response: notation.Encode(answer)}
}

// completes reports whether the change has completed the task.
func (a taskUpdated) completes() bool {
	return a.StatusChange != nil && a.StatusChange.To == string(tasks.Completed)
}

// text is the answer in the words of other hosts. The advice after a completion is what
// makes agents look for more; without it they report and go idle.
func (a taskUpdated) text() string {
	text := "Updated task #" + a.TaskID + " " + strings.Join(a.UpdatedFields, ", ")
	if a.completes() {
		text += "\n\nTask completed. Call TaskList now to find your next available task" +
			" or see if your work unblocked others."
	}
	return text
}

// factsText is the answer with all that the structured one says, for agent programs: many
// show their model the text alone.
func (a taskUpdated) factsText() string {
	text := "Updated task #" + a.TaskID + ": " + strings.Join(a.UpdatedFields, ", ")
	if len(a.UpdatedFields) == 0 {
		text = "Task #" + a.TaskID + " was so already"
	}
	if change := a.StatusChange; change != nil {
		text += fmt.Sprintf("\nStatus: %s (was %s)", change.To, change.From)
	}
	if a.completes() {
		text += "\nTask completed. " + ListTool + " shows what is there to do next."
	}
	return text
}

// notUpdated is the answer to a change that was not made. What a hook refused
// is feedback and no error of the tool (DESIGN 10.5); nor is an unknown id.
func (c call) notUpdated(id string, err error) agent.ToolResult {
	answer := taskUpdated{TaskID: id, UpdatedFields: []string{}, Error: err.Error()}
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		answer.Error, answer.Awaits = refused.Feedback, refused.Awaits
		if refused.Awaits != "" {
			answer.Error = ""
		}
		return agent.ToolResult{Content: refused.Feedback, Response: notation.Encode(answer), Halted: refused.halt}
	case errors.Is(err, tasks.ErrNotFound) && c.names == MCPNames:
		return agent.ToolResult{Content: answer.Error, Response: notation.Encode(answer)}
	case errors.Is(err, tasks.ErrNotFound):
		return agent.ToolResult{Content: "Task not found", Response: notation.Encode(answer)}
	}
	return toolError(err)
}
