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

// taskRepairs returns the alternative keys of task tool inputs that other hosts
// accept.
func taskRepairs() spelling {
	return spelling{"id": "taskId", "task_id": "taskId", "active_form": "activeForm"}
}

// TaskCreateInput is the input of TaskCreate. As in other hosts it has no owner
// and no dependencies: agents set both with TaskUpdate.
type TaskCreateInput struct {
	Subject     string                     `json:"subject" jsonschema:"a short title"`
	Description string                     `json:"description" jsonschema:"what is to be done, and when it counts as done"`
	ActiveForm  string                     `json:"activeForm,omitempty" jsonschema:"shown while it is in progress"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" jsonschema:"anything to keep with the task"`
}

// taskCreate adds a task without an owner and blockers.
func taskCreate(ctx context.Context, c call, in TaskCreateInput) agent.ToolResult {
	t, err := c.board.Create(ctx, c.me, tasks.New{
		Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Metadata: in.Metadata,
	})
	if err != nil {
		return agent.Failed("%v", err) // unlike a refused update, a refused creation is a tool error, as recorded
	}
	type created struct {
		ID          string `json:"id"`
		Subject     string `json:"subject"`
		Description string `json:"description,omitempty"`
	}
	return agent.ToolResult{
		Content: fmt.Sprintf("Task #%s created successfully: %s", t.ID, t.Subject),
		Response: texts.Encode(struct {
			Task created `json:"task"`
		}{created{t.ID, t.Subject, t.Description}}),
	}
}

// oneTask is the answer of the tools that show a task; null if there is none.
type oneTask struct {
	Task *taskShown `json:"task"`
}

// taskGetInput is the input of the tools that take only a task's id.
type taskGetInput struct {
	TaskID string `json:"taskId" jsonschema:"the task's id"`
}

// taskShown is a task in the results of tools.
type taskShown struct {
	ID          string       `json:"id"`
	Subject     string       `json:"subject"`
	Description string       `json:"description"`
	Status      tasks.Status `json:"status"`
	Owner       string       `json:"owner,omitempty"`
	Blocks      []string     `json:"blocks"`
	BlockedBy   []string     `json:"blockedBy"`
	// Evidence does not exist in other hosts.
	Evidence []tasks.Evidence `json:"evidence,omitempty"`
}

// taskGet shows one task. An unknown id is not an error: models ask for tasks
// that others have deleted, and would retry after an error.
func taskGet(ctx context.Context, c call, in taskGetInput) agent.ToolResult {
	t, err := c.board.deps.Store.Task(ctx, in.TaskID)
	if errors.Is(err, tasks.ErrNotFound) {
		return agent.ToolResult{Content: "Task not found", Response: texts.Encode(oneTask{})}
	}
	if err != nil {
		return agent.Failed("%v", err)
	}
	return agent.ToolResult{Content: inFull(t, c.me.Name), Response: texts.Encode(oneTask{shown(t)})}
}

// inFull returns all of a task as text for the member named reader.
func inFull(t tasks.Task, reader string) string {
	text := fmt.Sprintf("Task #%s: %s\nStatus: %s", t.ID, texts.Unbroken(texts.Defuse(t.Subject)), t.Status)
	if t.Owner != "" {
		text += "\nOwner: " + t.Owner
	}
	text += "\nDescription: " + framed(t, reader, texts.Defuse(t.Description))
	if len(t.BlockedBy) > 0 {
		text += "\nBlocked by: #" + strings.Join(t.BlockedBy, ", #")
	}
	if len(t.Blocks) > 0 {
		text += "\nBlocks: #" + strings.Join(t.Blocks, ", #")
	}
	return text + evidenceText(t.Evidence)
}

// shown returns a task in its structured form. It leaves out epoch and version,
// because a model would send back stale values.
func shown(t tasks.Task) *taskShown {
	return &taskShown{
		ID: t.ID, Subject: texts.Defuse(t.Subject), Description: texts.Defuse(t.Description), Status: t.Status,
		Owner: t.Owner, Blocks: t.Blocks, BlockedBy: t.BlockedBy, Evidence: t.Evidence,
	}
}

// taskList lists all tasks, one per line. It leaves out completed blockers,
// because a model waits for every blocker that it sees.
func taskList(ctx context.Context, c call, _ struct{}) agent.ToolResult {
	all, err := c.board.deps.Store.List(ctx)
	if err != nil {
		return agent.Failed("%v", err)
	}
	type row struct {
		ID        string       `json:"id"`
		Subject   string       `json:"subject"`
		Status    tasks.Status `json:"status"`
		Owner     string       `json:"owner,omitempty"`
		BlockedBy []string     `json:"blockedBy"`
	}
	rows, lines := make([]row, len(all)), make([]string, len(all))
	for i, t := range all {
		by := []string{}
		for _, o := range tasks.OpenBlockers(t, all) {
			by = append(by, o.ID)
		}
		rows[i] = row{t.ID, texts.Defuse(t.Subject), t.Status, t.Owner, by}
		lines[i] = fmt.Sprintf("#%s [%s] %s", t.ID, t.Status, texts.Unbroken(texts.Defuse(t.Subject)))
		if t.Owner != "" {
			lines[i] += " (" + t.Owner + ")"
		}
		if len(by) > 0 {
			lines[i] += " [blocked by #" + strings.Join(by, ", #") + "]"
		}
	}
	text := strings.Join(lines, "\n")
	if len(all) == 0 {
		text = "No tasks found"
	}
	return agent.ToolResult{Content: text, Response: texts.Encode(struct {
		Tasks []row `json:"tasks"`
	}{rows})}
}

// taskClaim makes the caller the owner of a task. Of concurrent claims one
// succeeds.
func taskClaim(ctx context.Context, c call, in taskGetInput) agent.ToolResult {
	t, err := c.board.Claim(ctx, c.me, in.TaskID, c.me.Name)
	if err != nil {
		return agent.Failed("%v", err)
	}
	return agent.ToolResult{Content: "The task is yours.\n" + inFull(t, c.me.Name), Response: texts.Encode(oneTask{shown(t)})}
}
