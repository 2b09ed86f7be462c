package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Tools makes the calls of mcp_tool hooks (Options.Tools).
//
// CallTool is called for several events at once. It must return when ctx ends, which is
// the hook's timeout. Its error means that the tool could not be called, and is shown to
// people as it is; it wraps ErrNotConnected if there is no such server.
type Tools interface {
	CallTool(ctx context.Context, call ToolCall) (ToolReply, error)
}

// ToolCall is the call that an mcp_tool hook makes.
type ToolCall struct {
	Server, Tool string
	Arguments    json.RawMessage // a JSON object
	For          hooks.Input     // the event that the hook judges
}

// ToolReply is the result of a tool.
type ToolReply struct {
	Text    string // its text content, joined by newlines
	IsError bool   // the tool failed; Text says why
	Other   bool   // it has content other than text, which cannot be a hook's answer
}

// ErrNotConnected is the error of an mcp_tool hook whose server is not connected.
var ErrNotConnected = errors.New("not connected")

// NotConnected returns the error of a call to a server that is not connected, in the words
// of recorded hosts.
func NotConnected(server string) error {
	return fmt.Errorf("MCP server '%s' %w", server, ErrNotConnected)
}

// toolOutput is what came of a tool call, for a Result.
type toolOutput struct {
	text  string // its result
	fault string // why it gave no verdict; empty if it gave one
}

// describe copies the call into a Result, as recorded hosts do.
func (t toolOutput) describe(v *Verdict, limit int) {
	v.Stdout = texts.Clip(strings.ToValidUTF8(t.text, "\uFFFD"), limit)
	if t.fault != "" {
		v.ExitCode, v.Stdout, v.Stderr = 1, "", texts.Clip(t.fault, limit)
	}
}

// runTool calls the tool of an mcp_tool hook. The text of its result is treated as what a
// command prints (HOOKS.md section 3).
func (r *run) runTool(ctx context.Context, h *armed) (Finding, toolOutput) {
	found := Finding{Code: -1}
	reply, err := r.callTool(ctx, h)
	reply.Text = strings.TrimPrefix(reply.Text, byteOrderMark)
	switch {
	case err != nil && ctx.Err() != nil:
		found.TimedOut = true
		return found, toolOutput{}
	case err != nil:
		found.Fault = err.Error()
	case reply.IsError:
		found.Fault = cmp.Or(strings.TrimSpace(reply.Text), "the tool failed and does not say why")
	case h.OnFailure == "block" && !decides(r.known.Event, reply):
		found.Fault = "the tool's result is not a hook's answer: " +
			cmp.Or(texts.Preview(reply.Text, bodyPreview), "no text")
	default:
		found.Code = 0
		found.Answer = Read(r.known.Event, reply.Text, false)
	}
	return found, toolOutput{reply.Text, found.Fault}
}

// decides reports whether a result counts as a verdict for a hook that refuses without one
// (HOOKS.md section 3). A result without content allows the action, like a command that
// prints nothing.
func decides(event hooks.Event, reply ToolReply) bool {
	if event == hooks.PreCompact || event == hooks.WorktreeCreate {
		return true
	}
	text := strings.TrimSpace(reply.Text)
	if text == "" {
		return !reply.Other
	}
	object, err := texts.Fields([]byte(text))
	return err == nil && slices.ContainsFunc(object, func(f texts.Field) bool {
		return slices.Contains([]string{"continue", "stopReason", "suppressOutput", "systemMessage",
			"terminalSequence", "decision", "reason", "hookSpecificOutput"}, f.Name)
	})
}

// callTool makes the call. A panic in CallTool becomes an error.
func (r *run) callTool(ctx context.Context, h *armed) (reply ToolReply, err error) {
	if r.opts.Tools == nil {
		return ToolReply{}, NotConnected(h.Server)
	}
	// A tool that acts on the team runs hooks itself.
	if r.depth >= maxDepth {
		return ToolReply{}, fmt.Errorf("mcp_tool hooks whose tools run such hooks are nested %d deep: "+
			"no further one is called", r.depth)
	}
	arguments, err := fillInput(h.Input, r.wire)
	if err != nil {
		return ToolReply{}, err
	}
	// The tool may be a program's own code; its panic must not end the team.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("calling the tool panicked: %v", cause)
		}
	}()
	return r.opts.Tools.CallTool(Inside(ctx, r.depth+1),
		ToolCall{Server: h.Server, Tool: h.Tool, Arguments: arguments, For: r.in})
}
