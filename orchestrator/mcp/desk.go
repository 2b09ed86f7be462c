package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// desk runs the calls of one member's team tools, over HTTP and over the bus.
type desk struct {
	caller *Caller
	state  *view.Live
	tools  map[string]teamtools.Tool
	book   *callBook
}

// call runs one call. Errors are part of the answer.
func (d *desk) call(ctx context.Context, c api.TeamCall) api.TeamAnswer {
	tool, ok := d.tools[c.Tool]
	if !ok {
		return answer(agent.Failed("there is no team tool %q", c.Tool))
	}
	if gone := d.caller.Life.State().Gone; gone != "" {
		return answer(agent.Failed("%s takes no more turns and has left the team: %s",
			d.caller.Member.Name, gone))
	}
	input, err := permission.PrepareInput(tool, c.Input)
	if err != nil {
		return answer(agent.Failed("%v", err))
	}
	c.Input = input
	if tool.ReadOnly { // a repeated call must return the current state
		return answer(agent.Contained(ctx, func(ctx context.Context) agent.ToolResult {
			return d.run(ctx, tool, c, "mcp/"+uuid.NewString())
		}))
	}
	result, err := d.book.do(ctx, d.request(tool, c))
	switch {
	case errors.Is(err, errPending):
		return stillChecking(c.Tool) // not an error, after which a model would try something else
	case err != nil:
		return answer(agent.Failed("%v", err))
	}
	if result.Halted != "" {
		// A hook has stopped the member. Only an interrupt ends an agent
		// program's turn.
		d.caller.Teammate.Interrupt(result.Halted)
	}
	return answer(result)
}

// run runs a call, if the member may make it.
func (d *desk) run(ctx context.Context, tool teamtools.Tool, c api.TeamCall, id string) agent.ToolResult {
	input, no := d.caller.guard(ctx, c, id)
	if no != nil {
		return *no
	}
	input, err := permission.PrepareInput(tool, input) // a hook may have changed it
	if err != nil {
		return agent.Failed("%v", err)
	}
	return tool.Run(ctx, agent.ToolCall{ID: id, Name: c.Tool, Input: input})
}

// request returns the call book's request for a call.
func (d *desk) request(tool teamtools.Tool, c api.TeamCall) request {
	key := callKey(c)
	// The store keeps the receipt of the effect under this id. Only the book
	// remembers a call without a name: to the store, a later call with the same
	// arguments is another one.
	id := "mcp/" + uuid.NewString()
	if c.Request != "" {
		id = "mcp/" + key
	}
	moment := func() view.Position {
		now := d.state.Position(d.caller.Member.Name)
		return view.Position{Turn: now.Turn, InTurn: now.InTurn}
	}
	asked := moment()
	return request{
		key: key, named: c.Request != "", queued: tool.Gated, waits: tool.Waits,
		run: func(ctx context.Context) agent.ToolResult {
			return d.run(ctx, tool, c, id)
		},
		listens: func() bool { return moment() == asked },
	}
}

// callKey returns a key that is equal for repeated calls. It ignores the order of
// the arguments' fields and white space, because a model may write a repeated
// call differently.
func callKey(c api.TeamCall) string {
	dec := json.NewDecoder(bytes.NewReader(c.Input))
	dec.UseNumber() // large ids must not become the same float
	var args any
	input := []byte(c.Input)
	if dec.Decode(&args) == nil {
		input = texts.Encode(args)
	}
	return texts.Digest(texts.Encode([]string{c.Tool, string(input), c.Request}))[:32]
}

// stillChecking returns the answer to a call whose gates take longer than agents
// wait.
func stillChecking(tool string) api.TeamAnswer {
	text := "Still checking: this takes longer than a tool call may. It goes on; call " + tool +
		" again with the same arguments to get the result."
	return api.TeamAnswer{Text: text, Structured: texts.Encode(struct {
		Pending bool   `json:"pending"`
		Message string `json:"message"`
	}{true, text})}
}

// answer returns the result of a tool in both forms. Errors get a structured form
// as well, because some agents show only that.
func answer(r agent.ToolResult) api.TeamAnswer {
	a := api.TeamAnswer{Text: r.Content, Structured: r.Response, IsError: r.IsError}
	if r.IsError || len(a.Structured) == 0 {
		a.Structured = texts.Encode(struct {
			Success bool   `json:"success"`
			Message string `json:"message"`
		}{!r.IsError, cmp.Or(r.Content, "no answer")})
	}
	return a
}
