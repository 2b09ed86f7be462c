package teammate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// ask runs one gate. The runner gives each run its own tool-use id. After each gate
// ask notices whether the turn was aborted; the model is told only if the gate was
// Stop (HOOKS.md section 8, rules 15 and 20).
func (u *turn) ask(ctx context.Context, gate hooks.Payload) (Verdict, error) {
	out, err := u.at.fire(ctx, gate)
	if err != nil {
		if ctx.Err() != nil && gate.Event() == hooks.Stop {
			u.at.keepInterruption(ctx)
		}
		return Verdict{}, err
	}
	v := decide(out)
	u.at.report(gate, out, v)
	return v, nil
}

// askStop asks the Stop hooks. If they pass while the member waits for a command in its background,
// the turn ends without the other gates, because the work is not done.
func (u *turn) askStop(ctx context.Context) (Verdict, error) {
	v, err := u.ask(ctx, u.stopInput())
	if awaits := u.t.opts.Awaits; awaits != nil && err == nil && v.Decision == Passed {
		if why := awaits(); why != "" {
			return Verdict{Decision: Awaits, Why: why}, nil
		}
	}
	return v, err
}

// stopInput returns the input of the Stop hooks. A teammate's input names the teammate.
func (u *turn) stopInput() hooks.StopInput {
	o := &u.t.opts
	in := hooks.StopInput{
		StopHookActive:       u.refused,
		LastAssistantMessage: u.lastText,
		BackgroundTasks:      u.t.inBackground(),
		SessionCrons:         u.t.crons(),
	}
	// The lead's input is that of a plain session. Scripts recognize a teammate by
	// these two fields.
	if !o.Lead {
		in.TeammateName, in.TeamName = o.Name, o.Team
	}
	return in
}

// taskInput returns the input of the TaskCompleted hooks for one task at a turn end.
func (s *hookContext) taskInput(task tasks.Task) hooks.TaskCompletedInput {
	return hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{
		TaskID:          task.ID,
		TaskSubject:     task.Subject,
		TaskDescription: task.Description,
		TeammateName:    s.t.opts.Name,
		TeamName:        s.t.opts.Team,
		Evidence:        EvidenceOf(task.Evidence),
	}}
}

// EvidenceOf returns a task's evidence in the form that hooks get.
func EvidenceOf(list []tasks.Evidence) []hooks.TaskEvidence {
	var out []hooks.TaskEvidence
	for _, e := range list {
		out = append(out, hooks.TaskEvidence{By: e.By, Text: e.Text, File: e.File})
	}
	return out
}

// idleInput returns the input of the TeammateIdle hooks. team_name is deprecated in
// other events but still required here (HOOKS.md section 11, point 14).
func (s *hookContext) idleInput() hooks.TeammateIdleInput {
	return hooks.TeammateIdleInput{TeammateName: s.t.opts.Name, TeamName: s.t.opts.Team}
}

// hookInputs returns everything that the hooks of a gate say to the model. A refusal always
// has a text, so that the agent knows why it continues.
func hookInputs(out hooks.Outcome) []agent.Input {
	texts := out.Messages
	if len(texts) == 0 {
		texts = slices.Concat(out.AdditionalContext, out.Feedback)
	}
	if len(texts) == 0 && out.Decision == hooks.Block {
		text := hooks.Framed("", string(out.Event)+" hook feedback:\nBlocked by hook")
		return []agent.Input{{Kind: agent.FromHook, Text: text}}
	}
	var ins []agent.Input
	for _, text := range texts {
		kind := agent.FromContext
		if hooks.Unframed(text) != text || slices.Contains(out.Feedback, text) {
			kind = agent.FromHook
		}
		ins = append(ins, agent.Input{Kind: kind, Text: text})
	}
	return ins
}

// report writes a gate's decision to the journal and, after Stop hooks, their
// summary.
func (h *hookContext) report(gate hooks.Payload, out hooks.Outcome, v Verdict) {
	// The journal gets what the hooks said, one event for each text, and not the combined
	// feedback that the model gets.
	texts := out.Feedback
	if v.Decision == Awaits { // hook_finished reports it, and the model gets nothing
		texts = nil
	}
	if len(texts) == 0 && v.Decision == Refused { // by a Stop hook's context, or without a word
		for _, text := range agent.Texts(v.Feedback) {
			texts = append(texts, hooks.Unframed(text))
		}
	}
	judged, _ := gate.(hooks.TaskCompletedInput)
	for _, text := range texts {
		h.emit(events.HookFeedback{
			Event: string(out.Event), ToolUseID: out.ToolUseID, Text: text, Path: "turn_end", TaskID: judged.TaskID,
		})
	}
	halted := v.Decision == Halted
	if halted {
		h.emit(events.HookStopped{Event: string(out.Event), ToolUseID: out.ToolUseID, Message: v.Why})
	}
	// TaskCompleted and TeammateIdle have no summary and no notification
	// (HOOKS.md section 8, rule 20).
	if s := h.summary; out.Event == hooks.Stop && s != nil && s.Count > 0 {
		s.ToolUseID = out.ToolUseID
		if s.Prevented = halted; halted {
			s.StopReason = v.Why
		}
		// A negative duration marks a hook that has not reported one. The mark is
		// internal to the pairing of rule 12.
		for i := range s.Hooks {
			s.Hooks[i].DurationMS = max(s.Hooks[i].DurationMS, 0)
		}
		h.emit(*s)
		if len(s.Errors) > 0 {
			h.emit(events.Notification{Kind: "stop-hook-error",
				Message: "stop hook problem; `covey logs " + h.t.opts.Name + "` shows it"})
		}
	}
}

// decide returns the verdict of one gate's outcome. Context from a Stop hook also continues the turn.
func decide(out hooks.Outcome) Verdict {
	switch {
	case out.Decision == hooks.Halt:
		return Verdict{Decision: Halted, By: out.Event, hook: out.StoppedBy, Why: out.HaltReason(), Feedback: hookInputs(out)}
	case out.Decision == hooks.Await:
		return Verdict{Decision: Awaits, Why: cmp.Or(out.Awaits, "an answer")}
	case out.Continues():
		v := Verdict{Decision: Refused, Feedback: hookInputs(out)}
		if gate := out.Refuser(); gate != "" {
			v.Why = string(out.Event) + ": " + gate
			v.Said = strings.TrimPrefix(texts.LastLine(out.Refusal()), "["+gate+"]: ")
		}
		return v
	}
	return Verdict{}
}
