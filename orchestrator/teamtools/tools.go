package teamtools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// Caller is the member that calls the team tools.
type Caller struct {
	Member *members.Member
	// Act returns the member as the actor of one call.
	Act func(callID string) Actor
}

// Description describes a team tool.
type Description struct {
	spec agent.Spec
	// ReadOnly is set if the tool changes nothing, so that a repeated call runs
	// again.
	ReadOnly bool
	// Gated is set if the call may run slow hooks, so that it is queued behind
	// earlier ones.
	Gated bool
	// Waits is set if the call only waits for somebody, so that it ends if nobody waits for it.
	Waits bool
	// OneOf lists the values of a field, and Required the mandatory fields, in
	// the schema for agent programs. The tool itself checks its input and words
	// the errors; an empty text counts as no value.
	OneOf    map[string][]any
	Required []string
}

// Spec describes the tool to a model.
func (d Description) Spec() agent.Spec { return d.spec }

// Tool is a team tool of one member.
type Tool struct {
	Description
	repair func(json.RawMessage) json.RawMessage
	run    func(ctx context.Context, call agent.ToolCall) agent.ToolResult
}

// Run carries out one call.
func (t Tool) Run(ctx context.Context, call agent.ToolCall) agent.ToolResult { return t.run(ctx, call) }

// By returns the tool with calls that run carries out.
func (t Tool) By(run func(ctx context.Context, call agent.ToolCall) agent.ToolResult) Tool {
	t.run = run
	return t
}

// Repair converts the input of a call to the form that the tool reads. It returns
// input that is not an object unchanged.
func (t Tool) Repair(input json.RawMessage) json.RawMessage { return t.repair(input) }

// toolDef is one team tool, with the names that agents know it by.
type toolDef struct {
	builtin, mcp string // its names; empty if agents of that kind do not have it
	// twin is another tool of the builtin agent that does the same. Rules for the
	// twin also apply to this tool.
	twin            string
	text            string // the description for models
	readOnly, gated bool
	waits           bool
	oneOf           map[string][]any
	required        []string
	repair          func(n ToolNames, input json.RawMessage) json.RawMessage
	work
	// has reports whether a member has the tool; nil for all members.
	has func(m *members.Member, n ToolNames) bool
}

// work is the implementation of a tool.
type work struct {
	schema func(plain bool) (json.RawMessage, error)
	do     func(ctx context.Context, c call, name string, input json.RawMessage) agent.ToolResult
}

// call is one call of a tool.
type call struct {
	board  *TaskAPI
	names  ToolNames // the tool names of the caller's agent
	member *members.Member
	me     Actor
}

// rows returns all team tools. All members share the table; callers must not
// change it.
var rows = sync.OnceValue(makeToolDefs)

// makeToolDefs makes the table of tools. Claiming and reporting are separate tools
// over MCP, while the builtin agent uses TaskUpdate and SendMessage, because
// models that do not know the tools find them by their names. Only members that
// must plan can submit a plan.
func makeToolDefs() []*toolDef {
	return []*toolDef{
		{builtin: "TaskCreate", mcp: CreateTool, gated: true, repair: rename(taskRepairs()), work: does(taskCreate),
			text: "Add a task to the team's list. It begins as pending and without an owner; update it to set what it waits " +
				"for. Hooks of the team may refuse it."},
		{builtin: "TaskGet", mcp: GetTool, readOnly: true, repair: rename(taskRepairs()), work: does(taskGet),
			text: "Show one task of the team's list in full."},
		{mcp: ClaimTool, twin: "TaskUpdate", gated: true, repair: rename(taskRepairs()), work: does(taskClaim),
			text: "Take a task that is pending and nobody else's: you become its owner and it is in progress."},
		{builtin: "TaskUpdate", mcp: UpdateTool, gated: true, repair: rename(taskRepairs()), work: does(taskUpdate),
			oneOf: map[string][]any{"status": {tasks.Pending, tasks.InProgress, tasks.Completed, statusDeleted}},
			text: "Change a task: claim it (status in_progress), complete it (status completed), give it back (status pending, " +
				"owner empty), hand it to somebody (owner), set what blocks it, or delete it. Completing may take a while, for " +
				"the team's gates look at the work first; what they answer tells you what to mend."},
		{builtin: "TaskList", mcp: ListTool, readOnly: true, repair: rename(nil), work: does(taskList),
			text: "List the team's tasks with status, owner and what blocks them."},
		{builtin: "SendMessage", mcp: SendTool, required: []string{"to", "message"}, repair: foldFor, work: does(sendMessage),
			text: `Send a message to a member of the team by name, or to all others with "*". Others see nothing of what you ` +
				`write otherwise.`},
		{builtin: "AskLead", mcp: AskTool, required: []string{"question"}, work: does(askLead), has: asks, waits: true,
			repair: rename(map[string]string{"message": "question", "text": "question", "content": "question"}),
			text:   "Ask the lead a question that you cannot go on without, and wait for the answer. For all else, send a message."},
		{builtin: ReportTool, mcp: ReportTool, twin: "SendMessage", work: does(report), has: reports,
			repair: rename(map[string]string{"message": "report", "text": "report", "content": "report"}),
			text: "Report to the lead of your team what you have done and found. The lead calls it only " +
				"where its goal was a question, or asked for no change: with answered true and the answer as the report."},
		{builtin: "ListMembers", mcp: MembersTool, readOnly: true, repair: rename(nil), work: does(listMembers),
			text: "List the members of the team: who they are and what they do now."},
		{builtin: "ListAgents", readOnly: true, repair: rename(nil), work: does(listMembers),
			text: "The same as ListMembers, as other hosts call it."},
		{builtin: "ScheduleCreate", mcp: ScheduleCreateTool, required: []string{"cron", "prompt"}, work: does(scheduleCreate),
			repair: rename(map[string]string{"schedule": "cron", "message": "prompt", "text": "prompt"}),
			text: "Schedule a message to yourself. It begins a turn when you are idle; what you have missed comes once. " +
				"At most 10; the team stays up for those that come once."},
		{builtin: "ScheduleDelete", mcp: ScheduleDeleteTool, required: []string{"id"}, work: does(scheduleDelete),
			repair: rename(map[string]string{"job_id": "id"}), text: "Delete one of your schedules."},
		{builtin: "ScheduleList", mcp: ScheduleListTool, readOnly: true, repair: rename(nil), work: does(scheduleList),
			text: "List your schedules."},
		{builtin: SpawnName, mcp: SpawnTool, gated: true, required: []string{"template", "name"}, work: does(spawn), has: spawns,
			repair: rename(map[string]string{"prompt": "task", "subagent_type": "template"}),
			text: "Add a teammate to the team, from a template of the spec, and give it a task. A shutdown_request ends it again " +
				"and makes room for another."},
		{builtin: inbox.PlanTool, mcp: PlanTool, work: does(submitPlan), has: plans,
			repair: rename(map[string]string{"text": "plan", "content": "plan"}),
			text: "Submit your plan for approval. Until it is approved you may only read. A message will tell you the " +
				"answer: end your turn after this call, and begin with the work when the plan is approved."},
	}
}

// reports reports whether a member has the report tool: agent programs and the
// lead have it. A teammate with the builtin agent uses SendMessage.
func reports(m *members.Member, n ToolNames) bool { return n == MCPNames || m.Lead }

// asks reports whether a member has somebody to ask.
func asks(m *members.Member, _ ToolNames) bool { return !m.Lead }

// plans reports whether a member has the tool that submits plans.
func plans(m *members.Member, _ ToolNames) bool { return m.PlanRequired }

// Twins returns the builtin agent's tool names by MCP tool name.
func Twins() map[string]string {
	twins := map[string]string{}
	for _, r := range rows() {
		if r.mcp == "" {
			continue
		}
		if twins[r.mcp] = r.twin; r.twin == "" {
			twins[r.mcp] = r.builtin
		}
	}
	return twins
}

// Describe describes a member's tools.
func Describe(n ToolNames, m *members.Member) ([]Description, error) {
	var list []Description
	var errs []error
	for _, r := range toolDefsOf(n, m) {
		d, err := r.describe(n)
		list, errs = append(list, d), append(errs, err)
	}
	return list, errors.Join(errs...)
}

// Tools makes the tools of a member.
func (b *TaskAPI) Tools(n ToolNames, c Caller) ([]Tool, error) {
	var list []Tool
	var errs []error
	for _, r := range toolDefsOf(n, c.Member) {
		d, err := r.describe(n)
		errs = append(errs, err)
		list = append(list, Tool{
			Description: d,
			repair:      func(input json.RawMessage) json.RawMessage { return r.repair(n, input) },
			run: func(ctx context.Context, called agent.ToolCall) agent.ToolResult {
				return r.do(ctx, call{b, n, c.Member, c.Act(called.ID)}, d.spec.Name, called.Input)
			},
		})
	}
	return list, errors.Join(errs...)
}

// toolDefsOf returns the tools that a member has.
func toolDefsOf(n ToolNames, m *members.Member) []*toolDef {
	var list []*toolDef
	for _, r := range rows() {
		if r.name(n) != "" && (r.has == nil || r.has(m, n)) {
			list = append(list, r)
		}
	}
	return list
}

// name returns the tool's name among n.
func (r *toolDef) name(n ToolNames) string {
	if n == MCPNames {
		return r.mcp
	}
	return r.builtin
}

// describe describes the tool under its name among n.
func (r *toolDef) describe(n ToolNames) (Description, error) {
	schema, err := r.schema(n == MCPNames)
	if err != nil {
		return Description{}, fmt.Errorf("schema of %s: %w", r.name(n), err)
	}
	return Description{
		spec:     agent.Spec{Name: r.name(n), Description: r.text, Schema: schema, Team: true, ReadOnly: r.readOnly},
		ReadOnly: r.readOnly, Gated: r.gated, Waits: r.waits, OneOf: r.oneOf, Required: r.required,
	}, nil
}

// does makes the work of a tool from a function with a typed input.
func does[In any](do func(ctx context.Context, c call, in In) agent.ToolResult) work {
	full := sync.OnceValues(func() (json.RawMessage, error) { return inputSchema[In](false) })
	plain := sync.OnceValues(func() (json.RawMessage, error) { return inputSchema[In](true) })
	schema := func(isPlain bool) (json.RawMessage, error) {
		if isPlain {
			return plain()
		}
		return full()
	}
	return work{schema, func(ctx context.Context, c call, name string, input json.RawMessage) agent.ToolResult {
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return agent.Failed("input of %s: %v", name, err)
		}
		return do(ctx, c, in)
	}}
}

// inputSchema makes the JSON Schema of a tool's input from its Go type, so that
// the schema and the decoder cannot differ. In a plain schema each field has one
// type, and any JSON is a string, since some vendors refuse all tools of a server
// if one field has several types.
func inputSchema[In any](plain bool) (json.RawMessage, error) {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, // any JSON, not a list of bytes
	}})
	if err != nil {
		return nil, err
	}
	for _, field := range schema.Properties {
		if plain && field.Type == "" && len(field.Types) == 0 {
			field.Type = "string"
		}
	}
	return json.Marshal(schema)
}

// rename makes a repair that replaces alternative keys (TEAMS.md section 2).
func rename(wrong spelling) func(ToolNames, json.RawMessage) json.RawMessage {
	return func(_ ToolNames, input json.RawMessage) json.RawMessage {
		var fields map[string]json.RawMessage
		if json.Unmarshal(input, &fields) != nil {
			return input
		}
		if !wrong.apply(fields) {
			return input
		}
		return texts.Encode(fields)
	}
}
