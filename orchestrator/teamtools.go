package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// teamTool is one of the tools by which an agent acts on its team. All kinds
// of agent get the same ones.
type teamTool struct {
	spec   agent.Spec
	repair map[string]string
	fold   func(json.RawMessage) json.RawMessage // instead of repair; nil: by repair
	run    func(ctx context.Context, call agent.ToolCall) agent.ToolResult
}

// Spec describes the tool.
func (t *teamTool) Spec() agent.Spec { return t.spec }

// Run carries out one call.
func (t *teamTool) Run(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	return t.run(ctx, call)
}

// Repair renames the keys that models get wrong, where the right one is not
// there; it leaves alone what is no object.
func (t *teamTool) Repair(input json.RawMessage) json.RawMessage {
	if t.fold != nil {
		return t.fold(input)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return input
	}
	mended := false
	for wrong, right := range t.repair {
		value, has := fields[wrong]
		if _, hasRight := fields[right]; has && !hasRight {
			fields[right] = value
			delete(fields, wrong)
			mended = true
		}
	}
	if !mended {
		return input
	}
	return rawjson.Encode(fields)
}

// newTeamTool makes a tool from a function over its typed input. repair renames
// the keys that models get wrong (TEAMS.md section 2).
func newTeamTool[In any](
	name, description string, repair map[string]string,
	run func(ctx context.Context, callID string, in In) agent.ToolResult,
) (agent.Tool, error) {
	text, err := inputSchema[In]()
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	spec := agent.Spec{Name: name, Description: description, Schema: text, Team: true}
	return &teamTool{spec: spec, repair: repair, run: func(ctx context.Context,
		call agent.ToolCall) agent.ToolResult {
		var in In
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return toolError(fmt.Errorf("input of %s: %w", name, err))
		}
		return run(ctx, call.ID, in)
	}}, nil
}

// inputSchemas has the schemas of the team tools' inputs, by type: one copy
// serves all members.
var inputSchemas sync.Map

// inputSchema is the JSON Schema of a tool's input, made from its Go type, so that
// what a model is told and what is decoded cannot differ.
func inputSchema[In any]() (json.RawMessage, error) {
	if known, ok := inputSchemas.Load(reflect.TypeFor[In]()); ok {
		return known.(json.RawMessage), nil
	}
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, // any JSON, not a list of bytes
	}})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(schema)
	if err == nil {
		inputSchemas.Store(reflect.TypeFor[In](), json.RawMessage(text))
	}
	return text, err
}

// toolError is a result that tells the model what went wrong.
func toolError(err error) agent.ToolResult {
	return agent.ToolResult{Content: err.Error(), IsError: true}
}

// taskRepairs are the misspellings of task tool inputs that hosts accept.
func taskRepairs() map[string]string {
	return map[string]string{"id": "taskId", "task_id": "taskId", "active_form": "activeForm"}
}

// teamTools makes the team tools of one member.
func teamTools(b *board, me func(callID string) actor, roster func() []rosterEntry) ([]agent.Tool, error) {
	create, err1 := newTeamTool("TaskCreate",
		"Add a task to the team's list. It begins as pending and without an owner; what it waits for is set with TaskUpdate.", taskRepairs(),
		func(ctx context.Context, id string, in taskCreateInput) agent.ToolResult {
			return taskCreate(ctx, b, me(id), in)
		})
	get, err2 := newTeamTool("TaskGet", "Show one task of the team's list in full.", taskRepairs(),
		func(ctx context.Context, _ string, in taskGetInput) agent.ToolResult {
			return taskGet(ctx, b, me("").Name, in)
		})
	update, err3 := newTeamTool("TaskUpdate",
		"Change a task: claim it (status in_progress), complete it, hand it to somebody (owner), set what blocks it, or delete it.",
		taskRepairs(),
		func(ctx context.Context, id string, in taskUpdateInput) agent.ToolResult {
			return taskUpdate(ctx, b, me(id), in)
		})
	list, err4 := newTeamTool("TaskList", "List the team's tasks with status, owner and what blocks them.", nil,
		func(ctx context.Context, _ string, _ struct{}) agent.ToolResult { return taskList(ctx, b) })
	send, err5 := messageTool(
		`Send a message to a member of the team by name, or to all others with "*". Others see nothing of what you write otherwise.`,
		func(ctx context.Context, id string, in sendMessageInput) agent.ToolResult {
			return sendMessage(ctx, b, me(id), in)
		})
	members, err6 := newTeamTool("ListMembers",
		"List the members of the team: who they are and what they do now.", nil,
		func(context.Context, string, struct{}) agent.ToolResult { return listMembers(me("").Name, roster()) })
	agents, err7 := newTeamTool("ListAgents", "The same as ListMembers, as other hosts call it.", nil,
		func(context.Context, string, struct{}) agent.ToolResult { return listMembers(me("").Name, roster()) })
	return []agent.Tool{create, get, update, list, send, members, agents},
		errors.Join(err1, err2, err3, err4, err5, err6, err7)
}

// taskCreateInput has no owner and no dependencies, as in other hosts: a task is
// made first and arranged with TaskUpdate afterwards.
type taskCreateInput struct {
	Subject     string                     `json:"subject" jsonschema:"a short title"`
	Description string                     `json:"description" jsonschema:"what is to be done, and when it counts as done"`
	ActiveForm  string                     `json:"activeForm,omitempty" jsonschema:"shown while it is in progress"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" jsonschema:"anything to keep with the task"`
}

// taskCreate adds a task without owner and blockers, as the tool has it elsewhere;
// agents that know it set both with TaskUpdate, and so does ours.
func taskCreate(ctx context.Context, b *board, me actor, in taskCreateInput) agent.ToolResult {
	t, err := b.create(ctx, me, tasks.New{
		Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Metadata: in.Metadata,
	})
	if err != nil {
		return toolError(err) // a refused creation is an error of the tool (DESIGN 10.5)
	}
	type created struct {
		ID          string `json:"id"`
		Subject     string `json:"subject"`
		Description string `json:"description,omitempty"`
	}
	return agent.ToolResult{
		Content: fmt.Sprintf("Task #%s created successfully: %s", t.ID, t.Subject),
		Response: rawjson.Encode(struct {
			Task created `json:"task"`
		}{created{t.ID, t.Subject, t.Description}}),
	}
}

// taskGetInput names a task.
type taskGetInput struct {
	TaskID string `json:"taskId" jsonschema:"the task's id"`
}

// taskShown is a task as TaskGet answers it.
type taskShown struct {
	ID          string       `json:"id"`
	Subject     string       `json:"subject"`
	Description string       `json:"description"`
	Status      tasks.Status `json:"status"`
	Owner       string       `json:"owner,omitempty"`
	Blocks      []string     `json:"blocks"`
	BlockedBy   []string     `json:"blockedBy"`
	// Evidence is covey's own, and left out where there is none.
	Evidence []tasks.Evidence `json:"evidence,omitempty"`
}

// taskGet shows one task. That there is none is an answer and no error: models ask
// for tasks that others have deleted, and an error would have them try again.
func taskGet(ctx context.Context, b *board, reader string, in taskGetInput) agent.ToolResult {
	type answer struct {
		Task *taskShown `json:"task"`
	}
	t, err := b.store.Task(ctx, in.TaskID)
	if errors.Is(err, tasks.ErrNotFound) {
		return agent.ToolResult{Content: "Task not found", Response: rawjson.Encode(answer{})}
	}
	if err != nil {
		return toolError(err)
	}
	return agent.ToolResult{Content: inFull(t, reader), Response: rawjson.Encode(answer{shown(t)})}
}

// inFull is a task in words, as the member called reader sees it.
func inFull(t tasks.Task, reader string) string {
	text := fmt.Sprintf("Task #%s: %s\nStatus: %s", t.ID, wording.Unbroken(agent.Defuse(t.Subject)), t.Status)
	if t.Owner != "" {
		text += "\nOwner: " + t.Owner
	}
	text += "\nDescription: " + framed(t, reader, agent.Defuse(t.Description))
	if len(t.BlockedBy) > 0 {
		text += "\nBlocked by: #" + strings.Join(t.BlockedBy, ", #")
	}
	if len(t.Blocks) > 0 {
		text += "\nBlocks: #" + strings.Join(t.Blocks, ", #")
	}
	return text + evidenceText(t.Evidence)
}

// shown is a task in its structured form.
// shown leaves out what agents must not rely on: epoch and version are the store's
// fences, and a model that saw them would quote stale ones.
func shown(t tasks.Task) *taskShown {
	return &taskShown{
		ID: t.ID, Subject: agent.Defuse(t.Subject), Description: agent.Defuse(t.Description), Status: t.Status,
		Owner: t.Owner, Blocks: t.Blocks, BlockedBy: t.BlockedBy, Evidence: t.Evidence,
	}
}

// taskList shows all tasks in one line each. Blockers that are completed are left
// out: a model would take any that it sees for a reason to wait.
func taskList(ctx context.Context, b *board) agent.ToolResult {
	all, err := b.store.List(ctx)
	if err != nil {
		return toolError(err)
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
		rows[i] = row{t.ID, agent.Defuse(t.Subject), t.Status, t.Owner, by}
		lines[i] = fmt.Sprintf("#%s [%s] %s", t.ID, t.Status, wording.Unbroken(agent.Defuse(t.Subject)))
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
	return agent.ToolResult{Content: text, Response: rawjson.Encode(struct {
		Tasks []row `json:"tasks"`
	}{rows})}
}
