package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Texts for the model if a hook gives none.
const (
	noStderr = "No stderr output"
	NoReason = "Blocked by hook"
)

// Finding is the result of running one handler, before it is judged.
type Finding struct {
	Command    string // as models see it; empty if its texts speak for themselves
	Plugin     string // the plugin that it comes from, or empty
	Code       int    // exit code; -1 if there is none
	Fault      string // why there is no exit code, for people; empty if there is one
	TimedOut   bool
	Aborted    bool // the context ended first
	FailClosed bool // it refuses if it gives no verdict
	Answer     Answer
	Stderr     string
	Tail       string // end of both outputs; only set for gates
}

// Verdict is what one hook decided. Merge combines verdicts.
type Verdict struct {
	hooks.Result
	Refused    hooks.Effect // if at least hooks.Refuses, the hook refuses, and where its text goes
	byAnswer   bool         // it refused by JSON, for which recorded hosts add a reminder
	shown      string       // the command as models see it; empty means Command
	plugin     string       // the plugin that the hook comes from, or empty
	Halt       bool
	stop       string
	Contexts   []contextText
	Message    string // systemMessage
	Summary    string // rewakeSummary, of a hook in the background
	permission hooks.Permission
	input      json.RawMessage // updatedInput
	output     map[string]json.RawMessage
}

// contextText is a text for the model before it is wrapped: plain stdout or additional context.
type contextText struct {
	label string // plainStdout or additionalContext
	Text  string
}

// Labels of context texts.
const (
	plainStdout       = "success"
	additionalContext = "additional context"
)

// Shown returns the text as the model reads it. name is that of the hook; for SessionStart's
// additional context recorded hosts omit the source.
func (n contextText) Shown(known *hooks.EventInfo, name string) string {
	if known.Event == hooks.SessionStart && n.label == additionalContext {
		name = string(hooks.SessionStart)
	}
	return Reminder(fmt.Sprintf("%s hook %s: %s", name, n.label, n.Text))
}

// Warn adds to the warning for people.
func (v *Verdict) Warn(format string, args ...any) {
	if v.Warning != "" {
		v.Warning += "; "
	}
	v.Warning += fmt.Sprintf(format, args...)
}

// verdict returns the verdict of a hook that agrees.
func (found Finding) verdict() Verdict {
	return Verdict{Result: hooks.Result{ExitCode: found.Code, Outcome: hooks.Success}, shown: found.Command,
		plugin: found.Plugin}
}

// says returns a text with the command before it in brackets.
func (found Finding) says(text string) string {
	if found.Command == "" {
		return text
	}
	return fmt.Sprintf("[%s]: %s", found.Command, text)
}

// Judge decides what the end of a hook means (HOOKS.md section 5).
func Judge(known *hooks.EventInfo, h *hooks.Handler, found Finding) Verdict {
	v := judgeEnd(known, h, found)
	if !found.Aborted {
		v.applyOdd(known, found)
	}
	return v
}

// judgeEnd judges by exit code and answer.
func judgeEnd(known *hooks.EventInfo, h *hooks.Handler, found Finding) Verdict {
	v := found.verdict()
	if found.Answer.note != "" {
		v.Warn("%s", found.Answer.note)
	}
	switch {
	case found.Aborted:
		v.Outcome = hooks.Cancelled
		return v
	case found.TimedOut:
		v.fail(known, h, found, hooks.Cancelled, found.Fault)
		return v
	case found.Fault != "":
		v.fail(known, h, found, hooks.NonBlockingError, found.Fault)
		return v
	}
	// Recorded hosts report an incomplete answer as a success, but nothing was checked.
	v.FailedOpen = found.Answer.broken && found.Code == 0
	if v.FailedOpen {
		v.refuseFault(known, h, found)
	}
	valid := found.Answer.fields != nil && found.Answer.flaw == ""
	if valid {
		v.apply(known, found)
	}
	switch {
	case found.Code == 2:
		v.refuseByExit(known, found)
		if found.Answer.flaw != "" {
			v.Warn("%s", found.Answer.flaw)
		}
	case valid:
	case found.Answer.flaw != "":
		v.fail(known, h, found, hooks.NonBlockingError, found.Answer.flaw)
	case found.Code != 0:
		v.fail(known, h, found, hooks.NonBlockingError,
			fmt.Sprintf("Failed with non-blocking status code %d: %s", found.Code, firstLine(found.Stderr)))
	case known.Context && found.Answer.plain != "":
		v.Contexts = append(v.Contexts, contextText{plainStdout, found.Answer.plain})
	}
	return v
}

// firstLine returns the first line of stderr, for a notice.
func firstLine(stderr string) string {
	if strings.TrimSpace(stderr) == "" {
		return noStderr
	}
	return texts.Preview(stderr, 300)
}

// fail records that a hook gave no verdict. Hooks fail open, as in the original; onFailure:
// block reverses that where the protocol allows it.
func (v *Verdict) fail(known *hooks.EventInfo, h *hooks.Handler, found Finding, status hooks.Status, why string) {
	v.Outcome, v.FailedOpen = status, true
	v.refuseFault(known, h, found)
	if v.Refused >= hooks.Refuses {
		why = strings.Replace(why, "non-blocking ", "", 1)
	}
	v.Warn("%s", why)
}

// failsClosed reports whether the hook is configured to refuse on faults. A hook in the
// background cannot.
func failsClosed(h *hooks.Handler) bool {
	return h.OnFailure == "block" && !(h.Type == "command" && (h.Async || h.AsyncRewake))
}

// refuseFault refuses because of a fault if the hook, its type or the team wants that and it
// has an effect on the event.
func (v *Verdict) refuseFault(known *hooks.EventInfo, h *hooks.Handler, found Finding) {
	refusable := known.OnFault() >= hooks.Refuses
	late := found.TimedOut && timesOutClosed(h, known.Event)
	switch {
	case found.FailClosed && refusable:
		v.Refuse(known, known.OnFault(), found.fault("fail_closed is true"))
	case !failsClosed(h) && !late:
	case known.EndsTurn() || !refusable:
		v.Warn("onFailure: block has no effect on %s; a gate refuses when it cannot run", known.Event)
	case late && !failsClosed(h):
		v.Refuse(known, known.OnFault(), found.says(found.Fault))
	default:
		v.Refuse(known, known.OnFault(), found.fault(`onFailure is "block"`))
	}
}

// fault returns the text of a refusal by a hook that gave no verdict: why that refuses, and
// what the hook printed, or else what is wrong with it.
func (found Finding) fault(because string) string {
	how := "failed"
	if found.TimedOut {
		how = "timed out"
	}
	said := cmp.Or(strings.TrimSpace(found.Stderr), found.Answer.plain, found.Fault, found.Answer.flaw,
		fmt.Sprintf("exit code %d, without any output", found.Code))
	return found.says(fmt.Sprintf("%s; blocking because %s\n%s", how, because, said))
}

// timesOutClosed reports whether the hook refuses when its time is up: hooks on a change of
// the model, and callbacks on PreToolUse and UserPromptSubmit, on which programs that embed
// an agent rely (HOOKS.md section 5, rule 5).
func timesOutClosed(h *hooks.Handler, event hooks.Event) bool {
	return event == hooks.PreModelSwitch || h.Type == "callback" &&
		(event == hooks.PreToolUse || event == hooks.UserPromptSubmit)
}

// refuseByExit applies exit code 2. The text is that of the hook's own JSON refusal if there
// is one, else stderr.
func (v *Verdict) refuseByExit(known *hooks.EventInfo, found Finding) {
	if v.Refused >= hooks.Refuses && known.Exit2 >= hooks.Refuses {
		return
	}
	stderr := strings.TrimRight(found.Stderr, " \t\r\n")
	if stderr == "" {
		stderr = noStderr
	}
	text := found.says(stderr)
	if known.Exit2 < hooks.Refuses {
		v.Outcome = hooks.NonBlockingError
		v.Warn("exit code 2 refuses nothing on %s: %s", known.Event, text)
		return
	}
	v.byAnswer = false
	v.Refuse(known, known.Exit2, text)
}

// Refuse turns the verdict into a refusal with text.
func (v *Verdict) Refuse(known *hooks.EventInfo, how hooks.Effect, text string) {
	v.Outcome, v.Refused, v.Feedback, v.FailedOpen = hooks.Blocking, how, text, false
	if known.Event == hooks.PreToolUse || known.Event == hooks.PermissionRequest {
		v.permission = hooks.Permission{Decision: "deny", Reason: text}
	}
}

// apply applies the fields of a valid answer.
func (v *Verdict) apply(known *hooks.EventInfo, found Finding) {
	f := found.Answer.fields
	if f.async {
		v.Warn("the hook asked for the background but ran in the foreground: it decides nothing")
		return
	}
	if f.message != "" && known.Discards {
		v.Warn("systemMessage has no effect on %s", known.Event)
	} else {
		v.Message = f.message
	}
	if f.stray != "" {
		v.Warn("hookSpecificOutput is for %s, not for %s: it was left out", f.stray, known.Event)
	}
	if f.terminal != "" {
		v.setOutput("terminalSequence", f.terminal)
	}
	if f.halt {
		v.applyHalt(known, f)
	}
	v.applySpecific(known, f)
	switch {
	case f.decision == "block" && known.Decision >= hooks.Refuses:
		v.byAnswer = true
		v.Refuse(known, known.Decision, cmp.Or(f.reason, NoReason))
	case f.decision == "block":
		v.Warn("decision: block refuses nothing on %s", known.Event)
	case f.decision == "approve" && known.Event == hooks.PreToolUse && v.permission.Decision == "":
		v.permission = hooks.Permission{Decision: "allow", Reason: f.reason}
	}
}

// applyHalt applies continue:false.
func (v *Verdict) applyHalt(known *hooks.EventInfo, f *fields) {
	if !known.Halts {
		v.Warn("continue: false has no effect on %s", known.Event)
		return
	}
	event := known.Event
	if event == hooks.SubagentStop {
		event = hooks.Stop
	}
	v.Halt, v.stop = true, cmp.Or(f.stop, fmt.Sprintf("%s hook prevented continuation", event))
}

// setOutput sets a field of the answer that has no field of its own here.
func (v *Verdict) setOutput(name string, value any) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(value) // strings always marshal
	}
	if v.output == nil {
		v.output = map[string]json.RawMessage{}
	}
	v.output[name] = raw
}

// applySpecific applies hookSpecificOutput.
func (v *Verdict) applySpecific(known *hooks.EventInfo, f *fields) {
	for name, raw := range f.specific {
		switch {
		case name == "hookEventName":
		case !known.Allows(name):
			v.Warn("%s takes no hookSpecificOutput.%s", known.Event, texts.Preview(name, 40))
		case name == "additionalContext":
			if text := texts.Text(raw); strings.TrimSpace(text) != "" {
				v.Contexts = append(v.Contexts, contextText{additionalContext, text})
			}
		case name == "permissionDecision" || name == "permissionDecisionReason":
		case name == "updatedInput":
			v.input = raw
		case name == "decision":
			v.applyRequest(raw)
		default:
			v.setOutput(name, raw)
		}
	}
	if known.Allows("permissionDecision") {
		v.applyPermission(known, f)
	}
}

// applyPermission applies a decision about a tool call. A deny is also a refusal, and no
// other hook's allow overrides it.
func (v *Verdict) applyPermission(known *hooks.EventInfo, f *fields) {
	decision := texts.Text(f.specific["permissionDecision"])
	reason := texts.Text(f.specific["permissionDecisionReason"])
	switch {
	case decision == "":
	case decision == "deny":
		v.byAnswer = true
		v.Refuse(known, known.Exit2, cmp.Or(reason, NoReason))
		v.permission = hooks.Permission{Decision: "deny", Reason: v.Feedback}
	default:
		v.permission = hooks.Permission{Decision: decision, Reason: reason}
	}
}

// applyRequest applies a PermissionRequest's decision. Its further fields
// (updatedPermissions, interrupt) stay in Output.
func (v *Verdict) applyRequest(raw json.RawMessage) {
	var decision struct {
		Behavior     string          `json:"behavior"`
		Message      string          `json:"message"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
	}
	if err := json.Unmarshal(raw, &decision); err != nil {
		v.Warn("hookSpecificOutput.decision: %v", err) // cannot happen after the schema check
		return
	}
	v.permission = hooks.Permission{Decision: decision.Behavior, Reason: decision.Message}
	if decision.Behavior == "allow" {
		v.input = decision.UpdatedInput
	}
	v.setOutput("decision", raw)
}
