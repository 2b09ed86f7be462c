package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Reminder wraps a text as recorded hosts show it to the model.
func Reminder(text string) string {
	return "<system-reminder>\n" + text + reminderEnd
}

const reminderEnd = "\n</system-reminder>"

// Merge combines the verdicts of an event's hooks into one Outcome. The verdicts are in the
// order in which the hooks finished; feedback and contexts keep that order, and where only
// one can count, it is the last. Feedback follows all contexts and reminders.
func Merge(known *hooks.EventInfo, name string, verdicts []Verdict) hooks.Outcome {
	out := hooks.Outcome{Event: known.Event, Matched: len(verdicts), Decision: hooks.Pass}
	for i := range verdicts {
		v := &verdicts[i]
		out.Results = append(out.Results, v.Result)
		addTexts(&out, known, name, v)
		won := addPermission(&out, known, v)
		if v.Message != "" {
			out.SystemMessages = append(out.SystemMessages, v.Message)
		}
		// The fields of a PermissionRequest's decision come from the hook whose decision
		// counts; for other events the last hook wins.
		if len(v.input) > 0 && (won || known.Event != hooks.PermissionRequest) {
			out.UpdatedInput = v.input
		}
		for field, raw := range v.output {
			if won || field != "decision" {
				addOutput(&out, field, raw)
			}
		}
		switch {
		case v.Halt && out.Decision != hooks.Halt:
			out.Decision, out.StopReason, out.StoppedBy = hooks.Halt, v.stop, v.Command
		case v.Refused >= hooks.Refuses && out.Decision == hooks.Pass:
			out.Decision = hooks.Block
		}
	}
	for i := range verdicts {
		if v := &verdicts[i]; v.Refused == hooks.ToFeedback {
			out.Messages = append(out.Messages, v.framed(known))
		}
	}
	if out.Decision == hooks.Pass {
		addWaits(&out, verdicts)
	}
	return out
}

// addWaits adds what gates wait for. It is only called if nothing else was decided: an agent
// that has something to fix has no use for it.
func addWaits(out *hooks.Outcome, verdicts []Verdict) {
	var whose []string
	for i := range verdicts {
		if v := &verdicts[i]; v.Waits() {
			out.Decision = hooks.Await
			whose = append(whose, v.Wait.For)
			text := cmp.Or(v.Feedback, "This waits for "+v.Wait.For+".")
			out.Feedback, out.Messages = append(out.Feedback, text), append(out.Messages, text)
		}
	}
	out.Awaits = strings.Join(whose, " and ")
}

// framed returns the feedback of a refusal as the model is to see it: at a turn end it would
// otherwise look like a prompt of the user.
func (v *Verdict) framed(known *hooks.EventInfo) string {
	text := Heading(known.Event) + v.Feedback
	if !known.EndsTurn() {
		return text
	}
	return hooks.Framed(v.plugin, text)
}

// addTexts adds what the model is to see of one verdict. At a turn end a hook that refuses
// by JSON appears twice, as a reminder and as feedback, because recorded hosts do that and
// prompts rely on it.
func addTexts(out *hooks.Outcome, known *hooks.EventInfo, name string, v *Verdict) {
	if v.Halt && (known.EndsTurn() || known.Event == hooks.PostToolBatch) {
		out.Messages = append(out.Messages, Reminder(fmt.Sprintf("%s hook stopped continuation: %s", name,
			v.stop)))
	}
	if v.Refused >= hooks.Refuses {
		addRefusal(out, known, name, v)
	}
	for _, n := range v.Contexts {
		text := n.Shown(known, name)
		if known.Event == hooks.PreToolUse && len(out.AdditionalContext) > 0 { // one reminder, as recorded
			before := out.AdditionalContext[0]
			text = strings.TrimSuffix(before, reminderEnd) + "\n" + n.Text + reminderEnd
			out.Messages = slices.DeleteFunc(out.Messages, func(m string) bool { return m == before })
			out.AdditionalContext = nil
		}
		out.AdditionalContext = append(out.AdditionalContext, text)
		out.Messages = append(out.Messages, text)
	}
}

// addRefusal adds the text of one refusal in the place that its event has for it.
func addRefusal(out *hooks.Outcome, known *hooks.EventInfo, name string, v *Verdict) {
	blocking := Reminder(fmt.Sprintf("%s hook blocking error from command: \"%s\": %s", name,
		cmp.Or(v.shown, v.Command), v.Feedback))
	if v.Type == "callback" { // recorded hosts use the same text for all callbacks
		blocking = Reminder(fmt.Sprintf("%s:Callback hook blocking error from command: \"callback\": %s",
			known.Event, v.Feedback))
	}
	var text string
	switch v.Refused {
	case hooks.ToolError:
		text = fmt.Sprintf("%s hook error: %s", name, v.Feedback)
	case hooks.WithResult:
		text = blocking
	case hooks.ToFeedback:
		if v.byAnswer && known.EndsTurn() {
			out.Messages = append(out.Messages, blocking)
		}
		out.Feedback = append(out.Feedback, Heading(known.Event)+v.Feedback)
		return
	default:
		out.SystemMessages = append(out.SystemMessages, fmt.Sprintf("%s operation blocked by hook:\n%s",
			name, v.Feedback))
		return
	}
	if v.Refused == hooks.ToolError { // a call has one error: the last hook's
		earlier := out.Feedback
		out.Messages = slices.DeleteFunc(out.Messages,
			func(m string) bool { return slices.Contains(earlier, m) })
		out.Feedback = nil
	}
	out.Feedback = append(out.Feedback, text)
	out.Messages = append(out.Messages, text)
}

// Heading returns the first line of feedback. SubagentStop is called Stop there, too.
func Heading(event hooks.Event) string {
	if event == hooks.SubagentStop {
		event = hooks.Stop
	}
	return string(event) + " hook feedback:\n"
}

// addPermission keeps the strictest decision about a tool call. Among equal ones it keeps
// the last, as recorded, and for a PermissionRequest the first. won says that v's decision
// is the one that counts now.
func addPermission(out *hooks.Outcome, known *hooks.EventInfo, v *Verdict) (won bool) {
	now, before := rank(v.permission.Decision), rank(out.Permission.Decision)
	if now < before || now == before && (now == 0 || known.Event == hooks.PermissionRequest) {
		return false
	}
	out.Permission = v.permission
	return true
}

// rank orders decisions: deny > defer > ask > allow > none.
func rank(decision string) int {
	switch decision {
	case "deny":
		return 4
	case "defer":
		return 3
	case "ask":
		return 2
	case "allow":
		return 1
	}
	return 0
}

// addOutput adds an event-specific field. The last hook wins, except that watched paths and
// instructions are accumulated.
func addOutput(out *hooks.Outcome, field string, raw json.RawMessage) {
	if out.Output == nil {
		out.Output = map[string]json.RawMessage{}
	}
	before, twice := out.Output[field]
	switch {
	case twice && field == "customInstructions":
		raw, _ = json.Marshal(texts.Text(before) + "\n\n" + texts.Text(raw)) // strings always marshal
	case twice && field == "watchPaths":
		var all, more []string
		if json.Unmarshal(before, &all) == nil && json.Unmarshal(raw, &more) == nil {
			raw, _ = json.Marshal(append(all, more...)) // strings always marshal
		}
	}
	out.Output[field] = raw
}
