package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
)

// errNoModel is why prompt and agent hooks do not run without Options.Models.
var errNoModel = errors.New("no model is available to answer the hook")

// agentRefusal precedes the reason of an agent hook that refuses, as in recorded hosts. A
// prompt hook's reason has no prefix.
const agentRefusal = "Agent hook condition was not met: "

// textOutput is what a handler answered, for a Result.
type textOutput struct {
	text string
	note string // for people
}

// describe copies the output into a Result.
func (a textOutput) describe(v *Verdict, limit int) {
	v.Stdout = texts.Clip(strings.ToValidUTF8(a.text, "\uFFFD"), limit)
	if a.note != "" {
		v.Warn("%s", a.note)
	}
}

// runModel puts the question of a prompt or agent hook to a model and reads the answer.
func (r *run) runModel(ctx context.Context, h *armed) (Finding, textOutput) {
	found := Finding{Code: -1}
	// Not every event can be judged by a model; the hook then gives no verdict.
	if text := settings.CheckType(r.known, h.Type); text != "" {
		found.Fault = text
		return found, textOutput{}
	}
	reply, err := r.ask(ctx, questionOf(&h.Handler, r.in, strings.TrimSuffix(string(r.wire), "\n")))
	answer := textOutput{text: reply.Text, note: reply.Note}
	switch {
	case err != nil && ctx.Err() != nil:
		found.TimedOut = true
		return found, answer
	case err != nil:
		found.Fault = err.Error()
		return found, answer
	}
	s, err := parseAnswer(reply.Text)
	if err != nil {
		found.Fault = err.Error()
		return found, answer
	}
	note := r.applyAnswer(&found, h, s)
	answer.note = strings.TrimPrefix(answer.note+"; "+note, "; ")
	answer.note = strings.TrimSuffix(answer.note, "; ")
	return found, answer
}

// verifyingKey marks the context of an agent hook's agent. Hooks that judge its tool calls
// must not ask models in turn.
type verifyingKey struct{}

// asksModel reports whether the hook asks a model.
func (h *armed) asksModel() bool { return h.Type == "prompt" || h.Type == "agent" }

// ask asks the model, and turns a panic in Ask into an error.
func (r *run) ask(ctx context.Context, q Question) (reply Reply, err error) {
	if r.opts.Models == nil {
		return Reply{}, errNoModel
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("asking the model panicked: %v", cause)
		}
	}()
	if q.Agent {
		ctx = context.WithValue(ctx, verifyingKey{}, true)
	}
	return r.opts.Models.Ask(ctx, q)
}

// applyAnswer translates a model's answer into what a command would have done: a refusal is
// exit code 2 with the reason, plus a halt where the protocol ends the turn. note is for
// people.
func (r *run) applyAnswer(found *Finding, h *armed, s modelAnswer) (note string) {
	found.Code = 0
	event := r.known.Event
	switch {
	case s.ok:
		return ""
	// The event cannot be refused, so the no is only reported.
	case r.known.Exit2 < hooks.Refuses && !h.Gate:
		return fmt.Sprintf("the model said no, which has no effect on %s: %s", event,
			cmp.Or(s.reason, NoReason))
	case s.impossible && h.Type == "prompt" && (event == hooks.Stop || event == hooks.SubagentStop) && !h.Gate:
		return "the model said that the condition can never be met, so the turn may end: " +
			cmp.Or(s.reason, NoReason)
	}
	reason := cmp.Or(strings.TrimSpace(s.reason), NoReason)
	found.Code, found.Stderr, found.Tail = 2, reason, reason
	if h.Type == "agent" {
		found.Stderr = agentRefusal + reason
	}
	if h.haltsOnNo(r.in) {
		found.Answer = Halted(reason)
	}
	return ""
}

// haltsOnNo reports whether a model's no ends the turn, or stops the teammate at a turn
// end, instead of sending the agent back to work (HOOKS.md section 3). UserPromptSubmit
// needs no halt: without the prompt there is no turn.
func (h *armed) haltsOnNo(in hooks.Input) bool {
	if h.Type == "agent" || h.Gate {
		return false
	}
	switch in.Payload.Event() {
	case hooks.PostToolBatch:
		return true
	case hooks.PreToolUse, hooks.PostToolUse, hooks.TeammateIdle:
		return !h.ContinueOnBlock
	case hooks.TaskCompleted:
		// The event carries the permission mode only at a turn end. There a no stops the
		// teammate; otherwise it only fails the tool call.
		return !h.ContinueOnBlock && in.PermissionMode != ""
	}
	return false
}
