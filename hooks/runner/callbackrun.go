package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
)

// runCallback calls a callback and reads its answer. note is for people.
func (r *run) runCallback(ctx context.Context, h *armed) (found Finding, stdout, note string) {
	found = Finding{Code: -1}
	end := h.callback.Call(ctx, r.in, cmp.Or(r.opts.Grace, proc.DefaultGrace))
	switch {
	case end.Removed:
		found.Code = 0
		return found, "", "it was removed before its turn came and was not called"
	case end.Running:
		found.TimedOut = true
		return found, "", "it ignores its context and still runs"
	case end.Fault != "" && ctx.Err() != nil:
		found.TimedOut = true
		return found, "", ""
	case end.Fault != "":
		found.Fault = end.Fault
		return found, "", ""
	}
	found.Code = 0
	return callbackFinding(found, r.known, h, end.Answer)
}

// callbackFinding treats a callback's answer as a command's stdout, so that one set of
// rules judges both.
func callbackFinding(found Finding, known *hooks.EventInfo, h *armed, a hooks.Answer) (_ Finding,
	stdout, note string) {
	object, err := answerWire(a, known)
	if err != nil {
		found.Code, found.Fault = -1, "the callback's answer cannot be written: "+err.Error()
		return found, "", ""
	}
	if a.Decision == hooks.Block && known.Decision < hooks.Refuses && (known.Exit2 >= hooks.Refuses || h.Gate) {
		// Only an exit code can refuse such an event.
		found.Code, found.Stderr, found.Tail = 2, a.Reason, cmp.Or(a.Reason, NoReason)
	}
	if object == nil {
		return found, "", ""
	}
	found.Answer = Read(known.Event, string(object), false)
	return found, string(object), ""
}

// answerWire returns the answer as a command would print it, or nil if it is empty.
func answerWire(a hooks.Answer, known *hooks.EventInfo) ([]byte, error) {
	// The fields are those of the protocol, so that a callback cannot do what a command
	// could not.
	object := map[string]any{}
	set := func(to map[string]any, name, value string) {
		if value != "" {
			to[name] = value
		}
	}
	switch a.Decision {
	case hooks.Block:
		// Where only an exit code can refuse, callbackFinding sets the code, and a decision
		// in the answer would be reported as one without effect.
		if known.Decision >= hooks.Refuses || known.Exit2 < hooks.Refuses {
			object["decision"] = "block"
			set(object, "reason", a.Reason)
		}
	case hooks.Halt:
		object["continue"] = false
		set(object, "stopReason", a.Reason)
	case hooks.Pass, "":
	default:
		return nil, fmt.Errorf("unknown decision %q", a.Decision)
	}
	set(object, "systemMessage", a.SystemMessage)
	specific := map[string]any{}
	for name, value := range a.Output {
		specific[name] = value
	}
	set(specific, "additionalContext", a.Context)
	if err := answerCall(a, known, specific); err != nil {
		return nil, fmt.Errorf("its fields about the tool call: %w", err)
	}
	if len(specific) > 0 {
		specific["hookEventName"] = known.Event
		object["hookSpecificOutput"] = specific
	}
	if len(object) == 0 {
		return nil, nil
	}
	return texts.Marshal(object)
}

// answerCall adds an answer's fields about a tool call, in the form its event needs.
func answerCall(a hooks.Answer, known *hooks.EventInfo, specific map[string]any) error {
	if len(a.UpdatedInput) > 0 && !json.Valid(a.UpdatedInput) {
		return errors.New("UpdatedInput is not valid JSON")
	}
	if known.Event == hooks.PermissionRequest {
		if a.Permission.Decision == "" {
			return nil
		}
		decision := map[string]any{"behavior": a.Permission.Decision}
		if a.Permission.Reason != "" {
			decision["message"] = a.Permission.Reason
		}
		if len(a.UpdatedInput) > 0 {
			decision["updatedInput"] = a.UpdatedInput
		}
		specific["decision"] = decision
		return nil
	}
	if a.Permission.Decision != "" {
		specific["permissionDecision"] = a.Permission.Decision
		if a.Permission.Reason != "" {
			specific["permissionDecisionReason"] = a.Permission.Reason
		}
	}
	if len(a.UpdatedInput) > 0 {
		specific["updatedInput"] = a.UpdatedInput
	}
	return nil
}
