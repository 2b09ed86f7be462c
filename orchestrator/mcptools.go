package orchestrator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// The team tools as agent programs get them. The names begin with team_ since
// such programs have tools of their own that are called as the builtin agent's
// are (ACP.md). What they do is in teamtools.go, for all kinds of agent.
const (
	mcpSend    = "team_send_message"
	mcpMembers = "team_members"
	mcpCreate  = "team_task_create"
	mcpGet     = "team_task_get"
	mcpUpdate  = "team_task_update"
	mcpList    = "team_task_list"
	mcpClaim   = "team_task_claim"
	mcpReport  = "team_report"
)

// foreignTool is a team tool with what the server must know of it.
type foreignTool struct {
	agent.Tool
	looks bool // it changes nothing: asked twice, it is run twice
	gated bool // hooks may take their time over it: it runs behind those before it
	// oneOf are the words that a field may hold, as agents read it. What else comes is
	// answered by the tool itself, in its own words; an empty text is no value.
	oneOf map[string][]any
}

// foreignTools makes the team tools of one member whose agent is a program of
// its own. Without a board they can be described, not run.
func foreignTools(b *board, me func(callID string) actor, roster func() []rosterEntry) ([]foreignTool, error) {
	var list []foreignTool
	var errs []error
	// What add returns is good until the next add: the list may move.
	add := func(t agent.Tool, err error) *foreignTool {
		list, errs = append(list, foreignTool{Tool: t}), append(errs, err)
		return &list[len(list)-1]
	}
	add(foreignMessageTool(
		`Send a message to a member of your team by name, or to all others with "*". They see nothing of what you write `+
			`otherwise.`,
		func(ctx context.Context, id string, in sendMessageInput) agent.ToolResult {
			return sendMessage(ctx, b, me(id), in)
		}))
	add(reportTool(b, me))
	add(newTeamTool(mcpMembers, "List the members of your team: who they are and what they do now.", nil,
		func(context.Context, string, struct{}) agent.ToolResult {
			return foreignMembers(me("").Name, roster())
		})).looks = true
	addTaskTools(add, b, me)
	return list, errors.Join(errs...)
}

// addTaskTools adds the tools of the task list. Claiming has one of its own,
// where the builtin agent says status in_progress: models that meet the tools
// for the first time find it by its name.
func addTaskTools(
	add func(agent.Tool, error) *foreignTool, b *board, me func(callID string) actor,
) {
	add(newTeamTool(mcpCreate, "Add a task to your team's list. It begins as pending and without an owner. "+
		"Hooks of the team may refuse it.", taskRepairs(),
		func(ctx context.Context, id string, in taskCreateInput) agent.ToolResult {
			return taskCreate(ctx, b, me(id), in)
		})).gated = true
	add(newTeamTool(mcpClaim, "Take a task that is pending and nobody else's: you become its owner and it is in progress.",
		taskRepairs(),
		func(ctx context.Context, id string, in taskGetInput) agent.ToolResult {
			return taskClaim(ctx, b, me(id), in)
		})).gated = true
	update := add(newTeamTool(mcpUpdate, "Change a task: complete it (status completed), give it back (status pending, owner empty), "+
		"hand it to somebody (owner), set what blocks it, or delete it. Completing may take a while, for the team's gates look "+
		"at the work first; what they answer tells you what to mend.", taskRepairs(),
		func(ctx context.Context, id string, in foreignTaskUpdate) agent.ToolResult {
			return foreignUpdate(taskUpdate(ctx, b, me(id), in.asTools()))
		}))
	update.gated = true
	update.oneOf = map[string][]any{"status": {tasks.Pending, tasks.InProgress, tasks.Completed, statusDeleted}}
	add(newTeamTool(mcpGet, "Show one task of your team's list in full.", taskRepairs(),
		func(ctx context.Context, _ string, in taskGetInput) agent.ToolResult {
			return taskGet(ctx, b, me("").Name, in)
		})).looks = true
	add(newTeamTool(mcpList, "List your team's tasks with status, owner and what blocks them.", nil,
		func(ctx context.Context, _ string, _ struct{}) agent.ToolResult { return taskList(ctx, b) })).looks = true
}

// foreignTaskUpdate is taskUpdateInput for agents of others: some vendors refuse a
// tool that has a field without one plain type, and with it all tools of the server.
type foreignTaskUpdate struct {
	taskUpdateInput
	// Evidence hides the field of that name below. Files go by metadata.evidence.
	Evidence string `json:"evidence,omitempty" jsonschema:"what shows that it is done"`
}

// asTools is the input as the builtin agent would give it.
func (in foreignTaskUpdate) asTools() taskUpdateInput {
	if in.Evidence != "" {
		in.taskUpdateInput.Evidence = rawjson.Encode(in.Evidence)
	}
	return in.taskUpdateInput
}

// foreignMembers is listMembers for agents that see only its text.
func foreignMembers(me string, roster []rosterEntry) agent.ToolResult {
	return membersAnswer(roster, func(m rosterEntry) string { return m.line(me) + " [" + m.Agent + "]" })
}

// taskClaim makes the caller the owner of a task: of many who try, one wins.
func taskClaim(ctx context.Context, b *board, me actor, in taskGetInput) agent.ToolResult {
	t, err := b.claim(ctx, me, in.TaskID, me.Name)
	if err != nil {
		return toolError(err)
	}
	return agent.ToolResult{
		Content: "The task is yours.\n" + inFull(t, me.Name),
		Response: rawjson.Encode(struct {
			Task *taskShown `json:"task"`
		}{shown(t)}),
	}
}

// foreignUpdate words the answer of taskUpdate for agents that see only its
// text and know the tools by other names: the text has the facts of the
// structured answer.
func foreignUpdate(r agent.ToolResult) agent.ToolResult {
	var answer taskUpdated
	if r.IsError || json.Unmarshal(r.Response, &answer) != nil {
		return r
	}
	if !answer.Success {
		r.Content = cmp.Or(answer.Error, r.Content)
		return r
	}
	r.Content = "Updated task #" + answer.TaskID + ": " + strings.Join(answer.UpdatedFields, ", ")
	if len(answer.UpdatedFields) == 0 {
		r.Content = "Task #" + answer.TaskID + " was so already"
	}
	if change := answer.StatusChange; change != nil {
		r.Content += fmt.Sprintf("\nStatus: %s (was %s)", change.To, change.From)
		if change.To == string(tasks.Completed) {
			r.Content += "\nTask completed. " + mcpList + " shows what is there to do next."
		}
	}
	return r
}

// toolDesk serves one member's team tools to its agent, over whatever way the
// calls come.
type toolDesk struct {
	seat  *seat
	tools map[string]foreignTool
	book  *callBook
}

// call runs one call. It always gives an answer, whatever went wrong.
func (d *toolDesk) call(ctx context.Context, c api.TeamCall) api.TeamAnswer {
	tool, ok := d.tools[c.Tool]
	if !ok {
		return answer(toolError(fmt.Errorf("there is no team tool %q", c.Tool)))
	}
	if gone := d.seat.life.State().Gone; gone != "" {
		return answer(toolError(fmt.Errorf("%s takes no more turns and has left the team: %s",
			d.seat.member.Name, gone)))
	}
	input, err := permission.PrepareInput(tool.Tool, c.Input)
	if err != nil {
		return answer(toolError(err))
	}
	c.Input = input
	if tool.looks { // a repeat wants to see how things are now
		return answer(agent.Contained(ctx, func(ctx context.Context) agent.ToolResult {
			return d.run(ctx, tool, c, "mcp/"+uuid.NewString())
		}))
	}
	result, err := d.book.do(ctx, d.request(tool, c))
	switch {
	case errors.Is(err, errPending):
		return stillChecking(c.Tool) // no error: a model that reads one tries something else
	case err != nil:
		return answer(toolError(err))
	}
	if result.Halted != "" {
		// A hook has stopped the member; nothing else ends a foreign agent's turn.
		d.seat.mate.Interrupt(result.Halted)
	}
	return answer(result)
}

// run runs a call, if the member may make it.
func (d *toolDesk) run(ctx context.Context, tool foreignTool, c api.TeamCall, id string) agent.ToolResult {
	input, no := d.seat.guard(ctx, c, id)
	if no != nil {
		return *no
	}
	input, err := permission.PrepareInput(tool.Tool, input) // a hook may have changed it
	if err != nil {
		return toolError(err)
	}
	return tool.Run(ctx, agent.ToolCall{ID: id, Name: c.Tool, Input: input})
}

// request is a call as the book wants it.
func (d *toolDesk) request(tool foreignTool, c api.TeamCall) request {
	key := callKey(c)
	// Under this id the store keeps the receipt of the effect. A call without
	// a name is remembered by the book alone: to the store, a later call with
	// the same arguments is another one.
	id := "mcp/" + uuid.NewString()
	if c.Request != "" {
		id = "mcp/" + key
	}
	asked := d.seat.moment()
	return request{
		key: key, named: c.Request != "", queued: tool.gated,
		run: func(ctx context.Context) agent.ToolResult {
			return d.run(ctx, tool, c, id)
		},
		listens: func() bool { return d.seat.moment() == asked },
	}
}

// callKey tells calls apart. The order of the arguments' fields and the space
// between them do not count: a model that repeats itself writes them anew.
func callKey(c api.TeamCall) string {
	dec := json.NewDecoder(bytes.NewReader(c.Input))
	dec.UseNumber() // large ids must not become the same float
	var args any
	input := []byte(c.Input)
	if dec.Decode(&args) == nil {
		input = rawjson.Encode(args)
	}
	sum := sha256.Sum256(rawjson.Encode([]string{c.Tool, string(input), c.Request}))
	return hex.EncodeToString(sum[:16])
}

// stillChecking is the answer to a call whose gates take longer than agents
// wait.
func stillChecking(tool string) api.TeamAnswer {
	text := "Still checking: this takes longer than a tool call may. It goes on; call " + tool +
		" again with the same arguments to get the result."
	return api.TeamAnswer{Text: text, Structured: rawjson.Encode(struct {
		Pending bool   `json:"pending"`
		Message string `json:"message"`
	}{true, text})}
}

// answer gives the result of a tool in both forms. Errors, for which tools have
// no structured form, get one: an agent that shows only that would show nothing.
func answer(r agent.ToolResult) api.TeamAnswer {
	a := api.TeamAnswer{Text: r.Content, Structured: r.Response, IsError: r.IsError}
	if r.IsError || len(a.Structured) == 0 {
		a.Structured = rawjson.Encode(struct {
			Success bool   `json:"success"`
			Message string `json:"message"`
		}{!r.IsError, cmp.Or(r.Content, "no answer")})
	}
	return a
}
