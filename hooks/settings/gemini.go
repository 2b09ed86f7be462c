package settings

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
)

// geminiInput converts fields in which the tool has Gemini's names already.
func geminiInput(d hooks.Dialect, fields []notation.Field, now time.Time) []notation.Field {
	out := notation.Put(fields, notation.TextField("hook_event_name", d.Event))
	out = append(out, notation.TextField("timestamp", now.UTC().Format(time.RFC3339Nano)))
	if reply := notation.Get(out, "last_assistant_message"); reply != nil {
		out = append(out, notation.Field{Name: "prompt_response", Value: reply})
	}
	text, failed := notation.Get(out, "tool_response"), notation.Get(out, "error")
	if d.Event != "AfterTool" {
		return out
	}
	shown := notation.TextField("llmContent", resultText(text))
	if text == nil {
		shown.Value = failed
	}
	result := []notation.Field{shown, {Name: "returnDisplay", Value: shown.Value}}
	if failed != nil {
		result = append(result, notation.Field{Name: "error", Value: failed})
	}
	return notation.Put(out, notation.Field{Name: "tool_response", Value: notation.Object(result)})
}

// fromGemini converts an answer of Gemini to fields that translate knows.
func (t *translation) fromGemini(top []notation.Field) []notation.Field {
	var out []notation.Field
	word := notation.Text(notation.Get(top, "decision"))
	refuses := word == "deny" || word == "block"
	if refuses {
		out = t.refusal(notation.Get(top, "reason"))
	}
	for _, f := range top {
		switch {
		case f.Name == "decision" && (refuses || word == "allow" || word == "approve"): // the latter are no objection
		case f.Name == "reason" && refuses:
		case f.Name == "decision" && word == "ask":
			out = append(out, notation.TextField("permissionDecision", word))
		default:
			out = append(out, f)
		}
	}
	if change := notation.Get(t.inner, "tool_input"); change != nil { // added to the call's own
		given, _ := notation.Fields(t.given)
		_, input := t.call(given)
		whole, err := notation.Fields(input)
		changed, wrong := notation.Fields(change)
		if err == nil && wrong == nil {
			for _, f := range changed {
				whole = notation.Put(whole, f)
			}
			change = notation.Object(whole)
		}
		t.inner = slices.DeleteFunc(slices.Clone(t.inner), func(f notation.Field) bool { return f.Name == "tool_input" })
		t.inner = append(t.inner, notation.Field{Name: "updatedInput", Value: change})
	}
	return out
}

// refusal returns the fields that refuse at the event. A deny after a tool replaces its
// result; where the form of that is not known, the reason stands beside it.
func (t *translation) refusal(reason json.RawMessage) []notation.Field {
	if reason == nil {
		reason = notation.Encode("Blocked by hook")
	}
	if t.event == hooks.PreToolUse {
		return []notation.Field{notation.TextField("permissionDecision", "deny"),
			{Name: "permissionDecisionReason", Value: reason}}
	}
	given, _ := notation.Fields(t.given) // written by covey, so always valid
	response := notation.Get(given, "tool_response")
	fields, err := notation.Fields(response)
	switch {
	case t.event != hooks.PostToolUse:
	case err == nil && notation.Get(fields, "stdout") != nil:
		fields = notation.Put(notation.Put(fields, notation.Field{Name: "stdout", Value: reason}), notation.TextField("stderr", ""))
		t.inner = notation.Put(t.inner, notation.Field{Name: "updatedToolOutput", Value: notation.Object(fields)})
	case notation.Kind(response) == "string":
		t.inner = notation.Put(t.inner, notation.Field{Name: "updatedToolOutput", Value: reason})
	}
	return []notation.Field{notation.TextField("decision", "block"), {Name: "reason", Value: reason}}
}
