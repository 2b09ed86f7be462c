package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Answer converts the stdout and the exit code of a hook of the dialect to Claude
// Code's form. given is the event in that form. Output that is not a JSON object is
// returned unchanged, unless Copilot gives it another meaning.
func Answer(d hooks.Dialect, event hooks.Event, given []byte, stdout string, code int) (string, int) {
	if d.Program == "" {
		return stdout, code
	}
	text := strings.TrimSpace(stdout)
	top, err := texts.Fields([]byte(text))
	refused := isCopilot(d.Program) && event == hooks.PermissionRequest && code == 2
	switch {
	case err != nil && text != "" && !refused && (strings.HasPrefix(text, "{") || texts.Hidden(text)):
		return stdout, code // probably an invalid answer, which is to be reported
	case refused && err != nil:
		top = nil // a refusal without a reason
	case err != nil && (d.Program == hooks.Copilot || isWhole(d.Program)) &&
		(event == hooks.SessionStart || event == hooks.UserPromptSubmit):
		return "", code // these programs do not show it to their model
	case err != nil:
		return stdout, code
	}
	t := translation{Dialect: d, event: event, given: given, refused: refused}
	if raw := texts.Get(top, "hookSpecificOutput"); raw != nil {
		inner, err := texts.Fields(raw)
		if err != nil {
			return stdout, code
		}
		t.inner = inner
	}
	switch d.Program {
	case hooks.Gemini:
		top = t.fromGemini(top)
	case hooks.Cursor:
		top = t.fromCursor(top)
	}
	if refused {
		code = 0 // Claude Code refuses in the answer only
	}
	return string(texts.Object(t.translate(top))), code
}

// isCopilot reports whether the hook's program is Copilot.
func isCopilot(p hooks.Program) bool { return p == hooks.Copilot || p == hooks.CopilotSnake }

// translation converts one answer to Claude Code's form.
type translation struct {
	hooks.Dialect
	event hooks.Event
	given []byte
	inner []texts.Field // of hookSpecificOutput
	// refused means that the exit code refuses a permission request.
	refused bool
}

// translate returns the fields of the converted answer.
func (t *translation) translate(top []texts.Field) []texts.Field {
	var out, request []texts.Field
	for _, f := range top {
		switch {
		case f.Name == "hookSpecificOutput":
		case f.Name == "decision" && texts.Text(f.Value) == "allow": // Claude Code omits it
		case f.Name == "permissionDecision":
			t.inner = setStricter(t.inner, f)
		case f.Name == "modifiedArgs":
			t.inner = texts.Put(t.inner, texts.Field{Name: "updatedInput", Value: f.Value})
		case f.Name == "permissionDecisionReason", f.Name == "updatedInput", f.Name == "additionalContext":
			if texts.Get(t.inner, f.Name) == nil {
				t.inner = append(t.inner, f)
			}
		case t.event == hooks.PermissionRequest && slices.Contains([]string{"behavior", "message", "interrupt"},
			f.Name):
			request = append(request, f)
		default:
			out = append(out, f)
		}
	}
	if t.refused {
		request = texts.Put(request, texts.TextField("behavior", "deny"))
	}
	if texts.Get(request, "behavior") != nil {
		t.inner = texts.Put(t.inner, texts.Field{Name: "decision", Value: texts.Object(request)})
	}
	out = t.turnEnd(out)
	t.convertInput()
	if len(t.inner) > 0 {
		name := hooks.Event(texts.Text(texts.Get(t.inner, "hookEventName")))
		if name == "" || Event(string(name)) == t.event || string(name) == t.Dialect.Event {
			t.inner = texts.Put(t.inner, texts.TextField("hookEventName", string(t.event)))
		}
		out = append(out, texts.Field{Name: "hookSpecificOutput", Value: texts.Object(t.inner)})
	}
	return out
}

// turnEnd moves VS Code's decision and reason for a turn's end from
// hookSpecificOutput to the top level, where Claude Code has them.
func (t *translation) turnEnd(out []texts.Field) []texts.Field {
	if t.event == hooks.PermissionRequest {
		return out
	}
	decision := texts.Text(texts.Get(t.inner, "decision"))
	for _, name := range []string{"decision", "reason"} {
		value := texts.Get(t.inner, name)
		if value == nil {
			continue
		}
		t.inner = slices.DeleteFunc(slices.Clone(t.inner),
			func(f texts.Field) bool { return f.Name == name })
		if decision == "block" || texts.Get(out, name) == nil && decision != "allow" {
			out = texts.Put(out, texts.Field{Name: name, Value: value})
		}
	}
	return out
}

// setStricter sets a permission field, unless the present one is stricter.
func setStricter(inner []texts.Field, f texts.Field) []texts.Field {
	order := []string{"", "allow", "ask", "deny"}
	had, has := texts.Text(texts.Get(inner, f.Name)), texts.Text(f.Value)
	if texts.Get(inner, f.Name) != nil && slices.Index(order, had) > slices.Index(order, has) &&
		slices.Contains(order, has) {
		return inner
	}
	return texts.Put(inner, f)
}

// convertInput converts the changed input of the answer. If that is impossible, the
// answer refuses: the call must not run as if the hook had agreed.
func (t *translation) convertInput() {
	target := &t.inner
	var request []texts.Field
	if t.event == hooks.PermissionRequest {
		// A decision that is not an object has no fields.
		request, _ = texts.Fields(texts.Get(t.inner, "decision"))
		target = &request
	}
	wanted := texts.Get(*target, "updatedInput")
	if wanted == nil {
		return
	}
	given, _ := texts.Fields(t.given) // written by covey, so always valid
	tool, had := t.call(given)
	input, err := newInput(t.Dialect, tool, had, wanted)
	if err == nil {
		*target = texts.Put(*target, texts.Field{Name: "updatedInput", Value: input})
	}
	switch {
	case t.event == hooks.PermissionRequest && err != nil:
		request = []texts.Field{texts.TextField("behavior", "deny"),
			texts.TextField("message", badInput(err))}
	case err != nil:
		t.inner = slices.DeleteFunc(slices.Clone(t.inner),
			func(f texts.Field) bool { return f.Name == "updatedInput" })
		if texts.Text(texts.Get(t.inner, "permissionDecision")) != "deny" {
			t.inner = texts.Put(texts.Put(t.inner, texts.TextField("permissionDecision", "deny")),
				texts.TextField("permissionDecisionReason", badInput(err)))
		}
	}
	if t.event == hooks.PermissionRequest {
		t.inner = texts.Put(t.inner, texts.Field{Name: "decision", Value: texts.Object(request)})
	}
}

// badInput returns the reason of a refusal because of a changed input that cannot
// be used.
func badInput(err error) string {
	return fmt.Sprintf("the input that the hook wants cannot be had: %v", err)
}

// call returns the tool of the event by Claude Code's name, and its input in the
// program's form. given is the event in Claude Code's form.
func (t *translation) call(given []texts.Field) (tool string, input json.RawMessage) {
	tool = texts.Text(texts.Get(given, "tool_name"))
	return tool, toolInput(t.Dialect, tool, texts.Get(given, "tool_input"))
}
