package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// input is what a hook of the dialect finds on its stdin, where Claude Code's would
// find wire.
func (d Dialect) input(wire []byte, clock func() time.Time) ([]byte, error) {
	if d.Program == "" {
		return wire, nil
	}
	fields, err := objectFields(wire)
	if err != nil {
		return nil, err
	}
	event, tool := rawText(fieldOf(fields, "hook_event_name")), rawText(fieldOf(fields, "tool_name"))
	now := clock()
	var out []Field
	for _, f := range fields {
		switch f.Name {
		case "tool_name":
			f = textField(f.Name, d.toolName(tool))
		case "tool_input":
			f.Value = d.toolInput(tool, f.Value)
		case "tool_response":
			if d.Program == Copilot || d.Program == CopilotSnake {
				f = copilotResult(d.Program, f.Value)
			}
		}
		out = append(out, f)
	}
	switch d.Program {
	case Copilot:
		out = camel(Event(event), out, now)
	case CopilotSnake:
		out = append(out, textField("timestamp", now.UTC().Format(time.RFC3339Nano)))
		if event == string(Stop) || event == string(SubagentStop) {
			out = append(out, textField("stop_reason", "end_turn"))
		}
	case VSCode:
		out = append(out, textField("timestamp", now.UTC().Format(time.RFC3339Nano)),
			Field{"sessionId", fieldOf(fields, "session_id")}, textField("hookEventName", event))
	}
	return append(objectOf(out), '\n'), nil
}

// objectOf is the object with these fields, whose values are JSON.
func objectOf(fields []Field) json.RawMessage {
	raw, _ := RawPayload{Fields: fields}.MarshalJSON() // names always marshal
	return raw
}

// fieldOf is the value of a field, or nil.
func fieldOf(fields []Field, name string) json.RawMessage {
	return RawPayload{Fields: fields}.field(name)
}

// textField is a field with a text.
func textField(name, text string) Field {
	value, _ := marshal(text) // texts always marshal
	return Field{name, value}
}

// camel makes Copilot's fields of Claude Code's.
func camel(event Event, fields []Field, now time.Time) []Field {
	out := []Field{{"sessionId", fieldOf(fields, "session_id")}, {"timestamp", json.RawMessage(fmt.Sprint(now.UnixMilli()))}}
	for _, f := range fields {
		switch f.Name {
		case "session_id", "hook_event_name":
			continue
		case "tool_input": // a text that holds JSON, as Copilot's scripts expect it
			var compact bytes.Buffer
			if json.Compact(&compact, f.Value) == nil {
				f = textField("toolArgs", compact.String())
			}
		case "agent_type":
			f.Name = "agentName"
		case "reason":
			if event == SessionEnd {
				f = textField("reason", "complete") // Copilot's own word for an end without trouble
			}
		case "error":
			if event == StopFailure {
				f = failure(fields)
			}
		}
		out = append(out, Field{camelName(f.Name), f.Value})
	}
	switch event {
	case Stop, SubagentStop:
		out = append(out, textField("stopReason", "end_turn"))
	case StopFailure:
		out = append(out, textField("errorContext", "model_call"), Field{"recoverable", json.RawMessage("false")})
	}
	return out
}

// failure is the error of Copilot's errorOccurred.
func failure(fields []Field) Field {
	name, message := rawText(fieldOf(fields, "error")), rawText(fieldOf(fields, "error_details"))
	value, _ := marshal(map[string]string{"name": name, "message": orElse(message, name)}) // texts always marshal
	return Field{"error", value}
}

// camelName turns tool_use_id into toolUseId.
func camelName(name string) string {
	var b strings.Builder
	for i, part := range strings.Split(name, "_") {
		if i > 0 && part != "" {
			letters := []rune(part)
			letters[0] = unicode.ToUpper(letters[0])
			part = string(letters)
		}
		b.WriteString(part)
	}
	return b.String()
}

// copilotResult is a tool's result as Copilot tells it: the text in what Claude
// Code's tools answer, or all of it.
func copilotResult(p Program, response json.RawMessage) Field {
	var parts struct {
		Stdout string `json:"stdout"`
		Stderr string `json:"stderr"`
	}
	text := rawText(response)
	if json.Unmarshal(response, &parts) == nil {
		text = strings.TrimSpace(parts.Stdout + "\n" + parts.Stderr)
	}
	if text == "" && string(response) != `""` {
		text = string(response)
	}
	result := []Field{textField("result_type", "success"), textField("text_result_for_llm", text)}
	if p == Copilot {
		result[0].Name, result[1].Name = camelName(result[0].Name), camelName(result[1].Name)
	}
	return Field{"tool_result", objectOf(result)}
}
