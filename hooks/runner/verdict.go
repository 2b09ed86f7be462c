package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
)

// What the model reads where a hook gives no text of its own.
const (
	noStderr = "No stderr output"
	noReason = "Blocked by hook"
)

// finding is what running one handler brought to light, before it is judged.
type finding struct {
	name     string // how texts call the hook: Stop, PreToolUse:Bash
	command  string // as configured
	code     int    // exit code; -1 if there is none
	fault    string // why there is no exit code, for people; empty if there is one
	timedOut bool
	aborted  bool // the context ended first
	closed   bool // without a verdict it refuses
	answer   answer
	stderr   string
	tail     string // end of both outputs; kept for gates only
	took     time.Duration
}

// verdict is what one hook decided. Merging verdicts gives the Outcome.
type verdict struct {
	hooks.Result
	refused    hooks.Effect // refuses and above: the hook refuses, and where its text goes
	byAnswer   bool         // it refused by JSON; recorded hosts then add a reminder
	halt       bool
	stop       string
	contexts   []note
	message    string // systemMessage
	summary    string // rewakeSummary, of a hook in the background
	permission hooks.Permission
	input      json.RawMessage // updatedInput
	output     map[string]json.RawMessage
}

// note is a text for the model before it is wrapped: plain stdout or context.
type note struct {
	label string // plainStdout or additionalContext
	text  string
}

// What labels a note.
const (
	plainStdout       = "success"
	additionalContext = "additional context"
)

// shown is the note as the model reads it. name is that of the hook; beside
// SessionStart's additional context recorded hosts leave the source out.
func (n note) shown(known *hooks.EventInfo, name string) string {
	if known.Event == hooks.SessionStart && n.label == additionalContext {
		name = string(hooks.SessionStart)
	}
	return reminder(fmt.Sprintf("%s hook %s: %s", name, n.label, n.text))
}

// warn adds to what a person should know.
func (v *verdict) warn(format string, args ...any) {
	if v.Warning != "" {
		v.Warning += "; "
	}
	v.Warning += fmt.Sprintf(format, args...)
}

// judge decides what a hook's end means (HOOKS.md section 5). It is pure.
func judge(known *hooks.EventInfo, h *hooks.Handler, found finding) verdict {
	v := judgeEnd(known, h, found)
	if !found.aborted {
		v.applyOdd(known, found)
	}
	return v
}

// judgeEnd judges by exit code and answer.
func judgeEnd(known *hooks.EventInfo, h *hooks.Handler, found finding) verdict {
	v := verdict{Result: hooks.Result{ExitCode: found.code, Duration: found.took, Outcome: hooks.Success}}
	if found.answer.note != "" {
		v.warn("%s", found.answer.note)
	}
	switch {
	case found.aborted:
		v.Outcome = hooks.Cancelled
		return v
	case found.timedOut:
		v.fail(known, h, found, hooks.Cancelled, found.fault)
		return v
	case found.fault != "":
		v.fail(known, h, found, hooks.NonBlockingError, found.fault)
		return v
	}
	// Recorded hosts call half an answer a success, and yet nothing was checked.
	v.FailedOpen = found.answer.broken && found.code == 0
	if v.FailedOpen {
		v.unread(known, h, found)
	}
	valid := found.answer.fields != nil && found.answer.flaw == ""
	if valid {
		v.apply(known, found)
	}
	switch {
	case found.code == 2:
		v.refuseByExit(known, found)
		if found.answer.flaw != "" {
			v.warn("%s", found.answer.flaw)
		}
	case valid:
	case found.answer.flaw != "":
		v.fail(known, h, found, hooks.NonBlockingError, found.answer.flaw)
	case found.code != 0:
		v.fail(known, h, found, hooks.NonBlockingError,
			fmt.Sprintf("Failed with non-blocking status code %d: %s", found.code, firstLine(found.stderr)))
	case known.Context && found.answer.plain != "":
		v.contexts = append(v.contexts, note{plainStdout, found.answer.plain})
	}
	return v
}

// firstLine is the first line of a stderr, for a notice.
func firstLine(stderr string) string {
	if strings.TrimSpace(stderr) == "" {
		return noStderr
	}
	return wording.Preview(stderr, 300)
}

// fail notes that a hook gave no verdict. Hooks fail open, as in the original;
// onFailure: block turns that around where the protocol lets it.
func (v *verdict) fail(known *hooks.EventInfo, h *hooks.Handler, found finding, status hooks.Status, why string) {
	v.Outcome, v.FailedOpen = status, true
	v.warn("%s", why)
	if v.close(known, found, why); v.refused >= hooks.Refuses {
		return
	}
	if !failsClosed(h) && !(found.timedOut && timesOutClosed(h, known.Event)) {
		return
	}
	v.refuseFault(known, found, why)
}

// unread turns half an answer around where the hook or the team wants faults to
// refuse: what was to be a verdict could not be read.
func (v *verdict) unread(known *hooks.EventInfo, h *hooks.Handler, found finding) {
	v.close(known, found, found.answer.note)
	if v.refused < hooks.Refuses && failsClosed(h) {
		v.refuseFault(known, found, found.answer.note)
	}
}

// failsClosed reports whether the hook's author wants its faults to refuse. Of
// one that nobody waits for they cannot.
func failsClosed(h *hooks.Handler) bool {
	return h.OnFailure == "block" && !(h.Type == "command" && (h.Async || h.AsyncRewake))
}

// refuseFault refuses because of a fault, where the event lets onFailure do so.
func (v *verdict) refuseFault(known *hooks.EventInfo, found finding, why string) {
	if known.EndsTurn() || known.OnFault() < hooks.Refuses {
		v.warn("onFailure: block has no effect on %s; a gate refuses when it cannot run", known.Event)
		return
	}
	v.refuse(known, known.OnFault(), fmt.Sprintf("[%s]: %s", found.command, why))
}

// timesOutClosed reports whether the hook refuses when its time is up: a change
// of the model, and what a callback of the host program was to guard before it
// begins (HOOKS.md section 5, rule 5). A program that embeds an agent relies on that.
func timesOutClosed(h *hooks.Handler, event hooks.Event) bool {
	return event == hooks.PreModelSwitch || h.Type == "callback" &&
		(event == hooks.PreToolUse || event == hooks.UserPromptSubmit)
}

// refuseByExit applies exit code 2. The text is that of the hook's own JSON
// refusal if it made one, else what it wrote to stderr.
func (v *verdict) refuseByExit(known *hooks.EventInfo, found finding) {
	if v.refused >= hooks.Refuses && known.Exit2 >= hooks.Refuses {
		return
	}
	stderr := strings.TrimRight(found.stderr, " \t\r\n")
	if stderr == "" {
		stderr = noStderr
	}
	text := fmt.Sprintf("[%s]: %s", found.command, stderr)
	if known.Exit2 < hooks.Refuses {
		v.Outcome = hooks.NonBlockingError
		v.warn("exit code 2 refuses nothing on %s: %s", known.Event, text)
		return
	}
	v.byAnswer = false
	v.refuse(known, known.Exit2, text)
}

// refuse makes the verdict a refusal with text.
func (v *verdict) refuse(known *hooks.EventInfo, how hooks.Effect, text string) {
	v.Outcome, v.refused, v.Feedback, v.FailedOpen = hooks.Blocking, how, text, false
	if known.Event == hooks.PreToolUse || known.Event == hooks.PermissionRequest {
		v.permission = hooks.Permission{Decision: "deny", Reason: text}
	}
}

// apply takes over the fields of a valid answer.
func (v *verdict) apply(known *hooks.EventInfo, found finding) {
	f := found.answer.fields
	if f.async {
		v.warn("the hook asked to go on in the background and was waited for: it decides nothing")
		return
	}
	if f.message != "" && known.Discards {
		v.warn("systemMessage has no effect on %s", known.Event)
	} else {
		v.message = f.message
	}
	if f.stray != "" {
		v.warn("hookSpecificOutput is for %s, not for %s: it was left out", f.stray, known.Event)
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
		v.refuse(known, known.Decision, cmp.Or(f.reason, noReason))
	case f.decision == "block":
		v.warn("decision: block refuses nothing on %s", known.Event)
	case f.decision == "approve" && known.Event == hooks.PreToolUse && v.permission.Decision == "":
		v.permission = hooks.Permission{Decision: "allow", Reason: f.reason}
	}
}

// applyHalt takes over continue:false.
func (v *verdict) applyHalt(known *hooks.EventInfo, f *fields) {
	if !known.Halts {
		v.warn("continue: false has no effect on %s", known.Event)
		return
	}
	event := known.Event
	if event == hooks.SubagentStop {
		event = hooks.Stop
	}
	v.halt, v.stop = true, cmp.Or(f.stop, fmt.Sprintf("%s hook prevented continuation", event))
}

// setOutput notes a field of the answer that has no field of its own here.
func (v *verdict) setOutput(name string, value any) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(value) // strings always marshal
	}
	if v.output == nil {
		v.output = map[string]json.RawMessage{}
	}
	v.output[name] = raw
}

// applySpecific takes over hookSpecificOutput.
func (v *verdict) applySpecific(known *hooks.EventInfo, f *fields) {
	for name, raw := range f.specific {
		switch {
		case name == "hookEventName":
		case !known.Allows(name):
			v.warn("%s takes no hookSpecificOutput.%s", known.Event, wording.Preview(name, 40))
		case name == "additionalContext":
			if text := rawjson.Text(raw); strings.TrimSpace(text) != "" {
				v.contexts = append(v.contexts, note{additionalContext, text})
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

// applyPermission takes over what the hook says about a tool call. A deny is a
// refusal like any other, and more: no other hook's allow outweighs it.
func (v *verdict) applyPermission(known *hooks.EventInfo, f *fields) {
	decision := rawjson.Text(f.specific["permissionDecision"])
	reason := rawjson.Text(f.specific["permissionDecisionReason"])
	switch {
	case decision == "":
	case decision == "deny":
		v.byAnswer = true
		v.refuse(known, known.Exit2, cmp.Or(reason, noReason))
		v.permission = hooks.Permission{Decision: "deny", Reason: v.Feedback}
	default:
		v.permission = hooks.Permission{Decision: decision, Reason: reason}
	}
}

// applyRequest takes over a PermissionRequest's decision. What it holds besides
// the verdict (updatedPermissions, interrupt) stays readable in Output.
func (v *verdict) applyRequest(raw json.RawMessage) {
	var decision struct {
		Behavior     string          `json:"behavior"`
		Message      string          `json:"message"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
	}
	if err := json.Unmarshal(raw, &decision); err != nil {
		v.warn("hookSpecificOutput.decision: %v", err) // the schema check lets nothing here
		return
	}
	v.permission = hooks.Permission{Decision: decision.Behavior, Reason: decision.Message}
	if decision.Behavior == "allow" {
		v.input = decision.UpdatedInput
	}
	v.setOutput("decision", raw)
}
