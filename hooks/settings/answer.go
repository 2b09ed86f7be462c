package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
)

// Answer converts the stdout and the exit code of a hook of the dialect to Claude
// Code's form. given is the event in that form. Output that is not a JSON object is
// returned unchanged, unless Copilot gives it another meaning.
func Answer(d hooks.Dialect, event hooks.Event, given []byte, stdout string, code int) (string, int) {
	if d.Program == "" {
		return stdout, code
	}
	text := strings.TrimSpace(stdout)
	top, err := notation.Fields([]byte(text))
	refused := isCopilot(d.Program) && event == hooks.PermissionRequest && code == 2
	switch {
	case err != nil && text != "" && !refused && (strings.HasPrefix(text, "{") || notation.Hidden(text)):
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
	if raw := notation.Get(top, "hookSpecificOutput"); raw != nil {
		inner, err := notation.Fields(raw)
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
	return string(notation.Object(t.translate(top))), code
}

// isCopilot reports whether the hook's program is Copilot.
func isCopilot(p hooks.Program) bool { return p == hooks.Copilot || p == hooks.CopilotSnake }

// translation converts one answer to Claude Code's form.
type translation struct {
	hooks.Dialect
	event hooks.Event
	given []byte
	inner []notation.Field // of hookSpecificOutput
	// refused says that the exit code refuses a permission request.
	refused bool
}

// translate returns the fields of the converted answer.
func (t *translation) translate(top []notation.Field) []notation.Field {
	var out, request []notation.Field
	for _, f := range top {
		switch {
		case f.Name == "hookSpecificOutput":
		case f.Name == "decision" && notation.Text(f.Value) == "allow": // Claude Code omits it
		case f.Name == "permissionDecision":
			t.inner = setStricter(t.inner, f)
		case f.Name == "modifiedArgs":
			t.inner = notation.Put(t.inner, notation.Field{Name: "updatedInput", Value: f.Value})
		case f.Name == "permissionDecisionReason", f.Name == "updatedInput", f.Name == "additionalContext":
			if notation.Get(t.inner, f.Name) == nil {
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
		request = notation.Put(request, notation.TextField("behavior", "deny"))
	}
	if notation.Get(request, "behavior") != nil {
		t.inner = notation.Put(t.inner, notation.Field{Name: "decision", Value: notation.Object(request)})
	}
	out = t.turnEnd(out)
	t.convertInput()
	if len(t.inner) > 0 {
		name := hooks.Event(notation.Text(notation.Get(t.inner, "hookEventName")))
		if name == "" || Event(string(name)) == t.event || string(name) == t.Dialect.Event {
			t.inner = notation.Put(t.inner, notation.TextField("hookEventName", string(t.event)))
		}
		out = append(out, notation.Field{Name: "hookSpecificOutput", Value: notation.Object(t.inner)})
	}
	return out
}

// turnEnd moves VS Code's decision and reason for a turn's end from
// hookSpecificOutput to the top level, where Claude Code has them.
func (t *translation) turnEnd(out []notation.Field) []notation.Field {
	if t.event == hooks.PermissionRequest {
		return out
	}
	decision := notation.Text(notation.Get(t.inner, "decision"))
	for _, name := range []string{"decision", "reason"} {
		value := notation.Get(t.inner, name)
		if value == nil {
			continue
		}
		t.inner = slices.DeleteFunc(slices.Clone(t.inner),
			func(f notation.Field) bool { return f.Name == name })
		if decision == "block" || notation.Get(out, name) == nil && decision != "allow" {
			out = notation.Put(out, notation.Field{Name: name, Value: value})
		}
	}
	return out
}

// setStricter sets a permission field, unless the present one is stricter.
func setStricter(inner []notation.Field, f notation.Field) []notation.Field {
	order := []string{"", "allow", "ask", "deny"}
	had, has := notation.Text(notation.Get(inner, f.Name)), notation.Text(f.Value)
	if notation.Get(inner, f.Name) != nil && slices.Index(order, had) > slices.Index(order, has) &&
		slices.Contains(order, has) {
		return inner
	}
	return notation.Put(inner, f)
}

// convertInput converts the changed input of the answer. If that is impossible, the
// answer refuses: the call must not run as if the hook had agreed.
func (t *translation) convertInput() {
	target := &t.inner
	var request []notation.Field
	if t.event == hooks.PermissionRequest {
		// A decision that is not an object has no fields.
		request, _ = notation.Fields(notation.Get(t.inner, "decision"))
		target = &request
	}
	wanted := notation.Get(*target, "updatedInput")
	if wanted == nil {
		return
	}
	given, _ := notation.Fields(t.given) // written by covey, so always valid
	tool, had := t.call(given)
	input, err := newInput(t.Dialect, tool, had, wanted)
	if err == nil {
		*target = notation.Put(*target, notation.Field{Name: "updatedInput", Value: input})
	}
	switch {
	case t.event == hooks.PermissionRequest && err != nil:
		request = []notation.Field{notation.TextField("behavior", "deny"),
			notation.TextField("message", badInput(err))}
	case err != nil:
		t.inner = slices.DeleteFunc(slices.Clone(t.inner),
			func(f notation.Field) bool { return f.Name == "updatedInput" })
		if notation.Text(notation.Get(t.inner, "permissionDecision")) != "deny" {
			t.inner = notation.Put(notation.Put(t.inner, notation.TextField("permissionDecision", "deny")),
				notation.TextField("permissionDecisionReason", badInput(err)))
		}
	}
	if t.event == hooks.PermissionRequest {
		t.inner = notation.Put(t.inner, notation.Field{Name: "decision", Value: notation.Object(request)})
	}
}

// badInput returns the reason of a refusal because of a changed input that cannot
// be used.
func badInput(err error) string {
	return fmt.Sprintf("the input that the hook wants cannot be had: %v", err)
}

// call returns the tool of the event by Claude Code's name, and its input in the
// program's form. given is the event in Claude Code's form.
func (t *translation) call(given []notation.Field) (tool string, input json.RawMessage) {
	tool = notation.Text(notation.Get(given, "tool_name"))
	return tool, toolInput(t.Dialect, tool, notation.Get(given, "tool_input"))
}
