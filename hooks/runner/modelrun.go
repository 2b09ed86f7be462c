package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/judging"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/wording"
)

// errNoModel is why prompt and agent hooks do not run where nobody has given
// the Runner models.
var errNoModel = errors.New("there is no model here that could answer the hook")

// agentRefusal stands before the reason of an agent hook that refuses, as in recorded
// hosts; a prompt hook's reason stands alone.
const agentRefusal = "Agent hook condition was not met: "

// heard is what came of a question, for a Result.
type heard struct {
	text string // what the model said
	note string // for people
}

// describe puts it into a Result.
func (a heard) describe(v *judging.Verdict, limit int) {
	v.Stdout = wording.Clip(strings.ToValidUTF8(a.text, "\uFFFD"), limit)
	if a.note != "" {
		v.Warn("%s", a.note)
	}
}

// runModel asks a model what a prompt or agent hook wants to know, and reads
// what it answers.
func (r *run) runModel(ctx context.Context, h *armed) (judging.Finding, heard) {
	found := judging.Finding{Code: -1}
	if text := settings.CheckType(r.known, h.Type); text != "" {
		found.Fault = text
		return found, heard{}
	}
	reply, err := r.ask(ctx, questionOf(&h.Handler, r.in, strings.TrimSuffix(string(r.wire), "\n")))
	answer := heard{text: reply.Text, note: reply.Note}
	switch {
	case err != nil && ctx.Err() != nil:
		found.TimedOut = true
		return found, answer
	case err != nil:
		found.Fault = err.Error()
		return found, answer
	}
	s, err := readSaid(reply.Text)
	if err != nil {
		found.Fault = err.Error()
		return found, answer
	}
	note := r.take(&found, h, s)
	answer.note = strings.TrimPrefix(answer.note+"; "+note, "; ")
	answer.note = strings.TrimSuffix(answer.note, "; ")
	return found, answer
}

// verifyingKey is how a context tells that an agent hook's agent works in it.
// The hooks that look at its calls must not ask models in turn.
type verifyingKey struct{}

// withoutModels leaves out the hooks that ask models where one of them is at
// work itself.
func withoutModels(ctx context.Context, chosen []*armed) []*armed {
	if ctx.Value(verifyingKey{}) == nil {
		return chosen
	}
	return slices.DeleteFunc(chosen, func(h *armed) bool { return h.Type == "prompt" || h.Type == "agent" })
}

// ask asks, and turns a panic of whoever answers into an error.
func (r *run) ask(ctx context.Context, q Question) (reply Reply, err error) {
	if r.opts.Models == nil {
		return Reply{}, errNoModel
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("asking the model broke off: %v", cause)
		}
	}()
	if q.Agent {
		ctx = context.WithValue(ctx, verifyingKey{}, true)
	}
	return r.opts.Models.Ask(ctx, q)
}

// take turns what a model said into what a command would have done: a refusal
// is exit code 2 with the reason, and where the protocol ends the turn with it,
// a halt besides. note is for people.
func (r *run) take(found *judging.Finding, h *armed, s said) (note string) {
	found.Code = 0
	event := r.known.Event
	switch {
	case s.ok:
		return ""
	case r.known.Exit2 < hooks.Refuses && !h.Gate:
		return fmt.Sprintf("the model said no, which has no effect on %s: %s", event,
			cmp.Or(s.reason, judging.NoReason))
	case s.impossible && h.Type == "prompt" && (event == hooks.Stop || event == hooks.SubagentStop) && !h.Gate:
		return "the model said that the condition can never be met, so the turn may end: " +
			cmp.Or(s.reason, judging.NoReason)
	}
	reason := cmp.Or(strings.TrimSpace(s.reason), judging.NoReason)
	found.Code, found.Stderr, found.Tail = 2, reason, reason
	if h.Type == "agent" {
		found.Stderr = agentRefusal + reason
	}
	if h.haltsOnNo(r.in) {
		found.Answer = judging.Halted(reason)
	}
	return ""
}

// haltsOnNo reports whether a model's no ends the turn, or at a turn end stops
// the teammate, instead of sending the agent back to work (HOOKS.md section 3).
// A refused prompt needs no halt: without it there is no turn.
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
		// Only at a turn end does the event carry the permission mode; there a no
		// stops the teammate, while a tool call just fails.
		return !h.ContinueOnBlock && in.PermissionMode != ""
	}
	return false
}
