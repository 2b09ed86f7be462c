package teamtools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// statusDeleted is a status that TaskUpdate accepts and that no task has: it
// deletes the task.
const statusDeleted = "deleted"

// TaskUpdateInput is the input of TaskUpdate. Its texts are pointers because only
// fields that are present change. An empty owner releases the task.
type TaskUpdateInput struct {
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

// taskUpdated is the structured result of TaskUpdate.
type taskUpdated struct {
	Success       bool          `json:"success"`
	TaskID        string        `json:"taskId"`
	UpdatedFields []string      `json:"updatedFields"`
	Error         string        `json:"error,omitempty"`
	Awaits        string        `json:"awaits,omitempty"` // the answer that the change waits for
	StatusChange  *statusChange `json:"statusChange,omitempty"`
}

// statusChange is the old and the new status. It is present only if the status
// changed.
type statusChange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// taskUpdate changes a task. It reads the task first only to report the old
// status; the board and the store decide by the task's state at the time of the
// change.
func taskUpdate(ctx context.Context, c call, in TaskUpdateInput) agent.ToolResult {
	if in.Status == statusDeleted {
		// No lookup first: when the call is repeated, the task is gone and only
		// its receipt remains.
		gone, err := c.board.Remove(ctx, c.me, in.TaskID)
		if err != nil {
			return c.notUpdated(in.TaskID, err)
		}
		return c.updated(gone, statusDeleted, []string{"deleted"})
	}
	before, err := c.board.deps.Store.Task(ctx, in.TaskID)
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
func (in TaskUpdateInput) patch(b *TaskAPI) (tasks.Patch, error) {
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

// updated returns the result for a change that was made.
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
	return agent.ToolResult{Content: text, Response: texts.Encode(answer)}
}

// completes reports whether the change has completed the task.
func (a taskUpdated) completes() bool {
	return a.StatusChange != nil && a.StatusChange.To == string(tasks.Completed)
}

// text returns the result in the wording of other hosts. Without the advice after
// a completion, agents report and go idle instead of looking for more work.
func (a taskUpdated) text() string {
	text := "Updated task #" + a.TaskID + " " + strings.Join(a.UpdatedFields, ", ")
	if a.completes() {
		text += "\n\nTask completed. Call TaskList now to find your next available task" +
			" or see if your work unblocked others."
	}
	return text
}

// factsText returns all facts of the structured result as text, because many
// agent programs show their model only the text.
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

// notUpdated returns the result for a change that was not made. A hook's refusal
// and an unknown id are not tool errors, as in recorded hosts.
func (c call) notUpdated(id string, err error) agent.ToolResult {
	answer := taskUpdated{TaskID: id, UpdatedFields: []string{}, Error: err.Error()}
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		answer.Error, answer.Awaits = refused.Feedback, refused.Awaits
		if refused.Awaits != "" {
			answer.Error = ""
		}
		return agent.ToolResult{Content: refused.Feedback, Response: texts.Encode(answer), Halted: refused.halt}
	case errors.Is(err, tasks.ErrNotFound) && c.names == MCPNames:
		return agent.ToolResult{Content: answer.Error, Response: texts.Encode(answer)}
	case errors.Is(err, tasks.ErrNotFound):
		return agent.ToolResult{Content: "Task not found", Response: texts.Encode(answer)}
	}
	return agent.Failed("%v", err)
}
