package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// cursorInput adds Cursor's fields to those of Claude Code's input, in which the tool has
// Cursor's names already. given is that input before; the error says why the hook cannot get
// what it decides on.
func cursorInput(d hooks.Dialect, given, out []texts.Field) ([]texts.Field, error) {
	call, _ := texts.Fields(texts.Get(given, "tool_input")) // absent for other events
	add := func(name string, value json.RawMessage) {
		if value != nil {
			out = texts.Put(out, texts.Field{Name: name, Value: value})
		}
	}
	session, cwd := texts.Get(given, "session_id"), texts.Get(given, "cwd")
	add("hook_event_name", texts.Encode(d.Event))
	add("conversation_id", session)
	add("generation_id", session)
	add("generation_id", texts.Get(given, "prompt_id"))
	add("workspace_roots", json.RawMessage("["+string(cwd)+"]"))
	add("cursor_version", texts.Encode("covey"))
	add("error_message", texts.Get(given, "error"))
	add("duration", texts.Get(given, "duration_ms"))
	add("subagent_type", texts.Get(given, "agent_type"))
	output := texts.Get(given, "error")
	if response := texts.Get(given, "tool_response"); response != nil {
		output = texts.Encode(resultText(response))
		add("tool_output", texts.Encode(string(response)))
	}
	switch d.Event {
	case "beforeShellExecution":
		add("command", texts.Get(call, "command"))
	case "afterShellExecution":
		add("command", texts.Get(call, "command"))
		add("output", output)
	case "beforeReadFile":
		content, err := texts.ReadFile(texts.Text(texts.Get(call, "file_path")), maxSettings)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the content of the file: %w", err)
		}
		add("file_path", texts.Get(call, "file_path"))
		add("content", texts.Encode(string(content)))
		add("attachments", json.RawMessage("[]"))
	case "afterFileEdit":
		add("file_path", texts.Get(call, "file_path"))
		add("edits", editsOf(call))
	case "beforeSubmitPrompt":
		add("attachments", json.RawMessage("[]"))
	case "stop", "subagentStop":
		add("status", texts.Encode("completed"))
		add("loop_count", json.RawMessage("0"))
		if string(texts.Get(given, "stop_hook_active")) == "true" {
			add("loop_count", json.RawMessage("1")) // covey counts no further
		}
	}
	return out, nil
}

// editsOf returns what a call that edits a file replaces.
func editsOf(call []texts.Field) json.RawMessage {
	if edits := texts.Get(call, "edits"); edits != nil {
		return edits
	}
	text := func(names ...string) string {
		for _, name := range names {
			if value := texts.Get(call, name); value != nil {
				return texts.Text(value)
			}
		}
		return ""
	}
	return texts.Encode([]map[string]string{{"old_string": text("old_string"),
		"new_string": text("new_string", "content", "new_source")}})
}

// fromCursor converts an answer of Cursor to fields that translate knows.
func (t *translation) fromCursor(top []texts.Field) []texts.Field {
	get := func(names ...string) json.RawMessage {
		for _, name := range names {
			if value := texts.Get(top, name); value != nil && texts.Text(value) != "" {
				return value
			}
		}
		return nil
	}
	toAgent, toUser := get("agent_message", "agentMessage", "reason"), get("user_message", "userMessage")
	var out []texts.Field
	refuse := func(reason json.RawMessage) {
		out = append(out, t.refusal(reason)...)
	}
	for _, f := range top {
		word := texts.Text(f.Value)
		switch f.Name {
		case "permission", "decision":
			switch {
			case word == "allow": // not more than no objection
			case word == "deny" && toAgent != nil:
				refuse(toAgent)
			case word == "deny":
				refuse(toUser)
			case word == "ask":
				out = append(out, texts.TextField("permissionDecision", "ask"))
			default:
				out = append(out, texts.Field{Name: "permissionDecision", Value: f.Value})
			}
		case "continue":
			if t.event == hooks.UserPromptSubmit && string(f.Value) == "false" {
				refuse(toUser)
			} else {
				out = append(out, f)
			}
		case "followup_message":
			if word != "" {
				refuse(f.Value)
			}
		case "updated_input":
			out = append(out, texts.Field{Name: "updatedInput", Value: f.Value})
		case "additional_context":
			out = append(out, texts.Field{Name: "additionalContext", Value: f.Value})
		case "updated_mcp_tool_output":
			t.inner = texts.Put(t.inner, texts.Field{Name: "updatedMCPToolOutput", Value: f.Value})
		case "agent_message", "agentMessage", "reason":
		case "user_message", "userMessage":
			if toAgent != nil {
				out = append(out, texts.Field{Name: "systemMessage", Value: f.Value})
			}
		default:
			out = append(out, f)
		}
	}
	return out
}
