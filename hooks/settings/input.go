package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Input converts the stdin of a Claude Code hook, wire, to that of a hook of the
// dialect.
func Input(d hooks.Dialect, wire []byte, clock func() time.Time) ([]byte, error) {
	if d.Program == "" {
		return wire, nil
	}
	fields, err := texts.Fields(wire)
	if err != nil {
		return nil, err
	}
	event, tool := texts.Text(texts.Get(fields, "hook_event_name")),
		texts.Text(texts.Get(fields, "tool_name"))
	now := clock()
	var out []texts.Field
	for _, f := range fields {
		switch f.Name {
		case "tool_name":
			f = texts.TextField(f.Name, toolName(d, tool))
		case "tool_input":
			f.Value = toolInput(d, tool, f.Value)
		case "tool_response":
			if d.Program == hooks.Copilot || d.Program == hooks.CopilotSnake {
				f = copilotResult(d.Program, f.Value)
			}
		}
		out = append(out, f)
	}
	switch d.Program {
	case hooks.Copilot:
		out = camel(hooks.Event(event), out, now)
	case hooks.CopilotSnake:
		out = append(out, texts.TextField("timestamp", now.UTC().Format(time.RFC3339Nano)))
		if event == string(hooks.Stop) || event == string(hooks.SubagentStop) {
			out = append(out, texts.TextField("stop_reason", "end_turn"))
		}
	case hooks.VSCode:
		out = append(out, texts.TextField("timestamp", now.UTC().Format(time.RFC3339Nano)),
			texts.Field{Name: "sessionId", Value: texts.Get(fields, "session_id")},
			texts.TextField("hookEventName", event))
	case hooks.Gemini:
		out = geminiInput(d, out, now)
	case hooks.Cursor:
		if out, err = cursorInput(d, fields, out); err != nil {
			return nil, err
		}
	}
	return append(texts.Object(out), '\n'), nil
}

// camel converts Claude Code's fields to Copilot's.
func camel(event hooks.Event, fields []texts.Field, now time.Time) []texts.Field {
	out := []texts.Field{{Name: "sessionId", Value: texts.Get(fields, "session_id")},
		{Name: "timestamp", Value: json.RawMessage(fmt.Sprint(now.UnixMilli()))}}
	for _, f := range fields {
		switch f.Name {
		case "session_id", "hook_event_name":
			continue
		case "tool_input": // a string that contains JSON, as Copilot's scripts expect
			var compact bytes.Buffer
			if json.Compact(&compact, f.Value) == nil {
				f = texts.TextField("toolArgs", compact.String())
			}
		case "agent_type":
			f.Name = "agentName"
		case "reason":
			if event == hooks.SessionEnd {
				f = texts.TextField("reason", "complete") // Copilot's word for a normal end
			}
		case "error":
			if event == hooks.StopFailure {
				f = failure(fields)
			}
		}
		out = append(out, texts.Field{Name: camelName(f.Name), Value: f.Value})
	}
	switch event {
	case hooks.Stop, hooks.SubagentStop:
		out = append(out, texts.TextField("stopReason", "end_turn"))
	case hooks.StopFailure:
		out = append(out, texts.TextField("errorContext", "model_call"),
			texts.Field{Name: "recoverable", Value: json.RawMessage("false")})
	}
	return out
}

// failure returns the error field of Copilot's errorOccurred.
func failure(fields []texts.Field) texts.Field {
	name, message := texts.Text(texts.Get(fields, "error")),
		texts.Text(texts.Get(fields, "error_details"))
	value, _ := texts.Marshal(map[string]string{"name": name,
		"message": cmp.Or(message, name)}) // strings always marshal
	return texts.Field{Name: "error", Value: value}
}

// camelName converts tool_use_id to toolUseId.
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

// copilotResult returns a tool's result in Copilot's form.
func copilotResult(p hooks.Program, response json.RawMessage) texts.Field {
	result := []texts.Field{texts.TextField("result_type", "success"),
		texts.TextField("text_result_for_llm", resultText(response))}
	if p == hooks.Copilot {
		result[0].Name, result[1].Name = camelName(result[0].Name), camelName(result[1].Name)
	}
	return texts.Field{Name: "tool_result", Value: texts.Object(result)}
}

// resultText returns the text in the response of Claude Code's tool, or the whole response.
func resultText(response json.RawMessage) string {
	var parts struct {
		Stdout string `json:"stdout"`
		Stderr string `json:"stderr"`
	}
	text := texts.Text(response)
	if json.Unmarshal(response, &parts) == nil {
		text = strings.TrimSpace(parts.Stdout + "\n" + parts.Stderr)
	}
	if text == "" && string(response) != `""` {
		text = string(response)
	}
	return text
}
