package settings

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// geminiInput converts fields in which the tool has Gemini's names already.
func geminiInput(d hooks.Dialect, fields []texts.Field, now time.Time) []texts.Field {
	out := texts.Put(fields, texts.TextField("hook_event_name", d.Event))
	out = append(out, texts.TextField("timestamp", now.UTC().Format(time.RFC3339Nano)))
	if reply := texts.Get(out, "last_assistant_message"); reply != nil {
		out = append(out, texts.Field{Name: "prompt_response", Value: reply})
	}
	text, failed := texts.Get(out, "tool_response"), texts.Get(out, "error")
	if d.Event != "AfterTool" {
		return out
	}
	shown := texts.TextField("llmContent", resultText(text))
	if text == nil {
		shown.Value = failed
	}
	result := []texts.Field{shown, {Name: "returnDisplay", Value: shown.Value}}
	if failed != nil {
		result = append(result, texts.Field{Name: "error", Value: failed})
	}
	return texts.Put(out, texts.Field{Name: "tool_response", Value: texts.Object(result)})
}

// fromGemini converts an answer of Gemini to fields that translate knows.
func (t *translation) fromGemini(top []texts.Field) []texts.Field {
	var out []texts.Field
	word := texts.Text(texts.Get(top, "decision"))
	refuses := word == "deny" || word == "block"
	if refuses {
		out = t.refusal(texts.Get(top, "reason"))
	}
	for _, f := range top {
		switch {
		case f.Name == "decision" && (refuses || word == "allow" || word == "approve"): // the latter are no objection
		case f.Name == "reason" && refuses:
		case f.Name == "decision" && word == "ask":
			out = append(out, texts.TextField("permissionDecision", word))
		default:
			out = append(out, f)
		}
	}
	if change := texts.Get(t.inner, "tool_input"); change != nil { // added to the call's own
		given, _ := texts.Fields(t.given)
		_, input := t.call(given)
		whole, err := texts.Fields(input)
		changed, wrong := texts.Fields(change)
		if err == nil && wrong == nil {
			for _, f := range changed {
				whole = texts.Put(whole, f)
			}
			change = texts.Object(whole)
		}
		t.inner = slices.DeleteFunc(slices.Clone(t.inner), func(f texts.Field) bool { return f.Name == "tool_input" })
		t.inner = append(t.inner, texts.Field{Name: "updatedInput", Value: change})
	}
	return out
}

// refusal returns the fields that refuse at the event. A deny after a tool replaces its
// result; where the form of that is not known, the reason stands beside it.
func (t *translation) refusal(reason json.RawMessage) []texts.Field {
	if reason == nil {
		reason = texts.Encode("Blocked by hook")
	}
	if t.event == hooks.PreToolUse {
		return []texts.Field{texts.TextField("permissionDecision", "deny"),
			{Name: "permissionDecisionReason", Value: reason}}
	}
	given, _ := texts.Fields(t.given) // written by covey, so always valid
	response := texts.Get(given, "tool_response")
	fields, err := texts.Fields(response)
	switch {
	case t.event != hooks.PostToolUse:
	case err == nil && texts.Get(fields, "stdout") != nil:
		fields = texts.Put(texts.Put(fields, texts.Field{Name: "stdout", Value: reason}), texts.TextField("stderr", ""))
		t.inner = texts.Put(t.inner, texts.Field{Name: "updatedToolOutput", Value: texts.Object(fields)})
	case texts.Kind(response) == "string":
		t.inner = texts.Put(t.inner, texts.Field{Name: "updatedToolOutput", Value: reason})
	}
	return []texts.Field{texts.TextField("decision", "block"), {Name: "reason", Value: reason}}
}
