package teammate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
)

// stopInput is what the Stop hooks get. A teammate's says whose it is.
func (u *turn) stopInput() hooks.StopInput {
	o := &u.t.opts
	in := hooks.StopInput{
		StopHookActive:       u.refused,
		LastAssistantMessage: u.lastText,
		BackgroundTasks:      u.t.inBackground(),
		SessionCrons:         []hooks.SessionCron{},
	}
	// The lead's Stop is the one of a plain session; by these two fields a
	// script tells teammates apart (DESIGN 2).
	if !o.Lead {
		in.TeammateName, in.TeamName = o.Name, o.Team
	}
	return in
}

// taskInput is what the TaskCompleted hooks get for one task at a turn end.
func (u *turn) taskInput(task tasks.Task) hooks.TaskCompletedInput {
	return hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{
		TaskID:          task.ID,
		TaskSubject:     task.Subject,
		TaskDescription: task.Description,
		TeammateName:    u.t.opts.Name,
		TeamName:        u.t.opts.Team,
		Evidence:        EvidenceOf(task.Evidence),
	}}
}

// EvidenceOf is a task's evidence as hooks are given it.
func EvidenceOf(list []tasks.Evidence) []hooks.TaskEvidence {
	var out []hooks.TaskEvidence
	for _, e := range list {
		out = append(out, hooks.TaskEvidence{By: e.By, Text: e.Text, File: e.File})
	}
	return out
}

// passed ends the gates of a turn end: it tells the task list which tasks' gates have
// agreed, if that wants to know and all the others have agreed too.
func (t *Teammate) passed(ctx context.Context, owned []tasks.Task, v Verdict, err error) (Verdict, error) {
	list, ok := t.opts.Tasks.(TaskCloser)
	if !ok || err != nil || v.Refused() || v.Halted() || v.Waits() || len(owned) == 0 {
		return v, err
	}
	if err := list.Passed(ctx, owned); err != nil {
		return Verdict{}, fmt.Errorf("after the gates: %w", err)
	}
	return v, nil
}

// idleInput is what the TeammateIdle hooks get. The team's name is out of use
// elsewhere and still required here (HOOKS.md section 11, point 14).
func (u *turn) idleInput() hooks.TeammateIdleInput {
	return hooks.TeammateIdleInput{TeammateName: u.t.opts.Name, TeamName: u.t.opts.Team}
}

// said is all that the hooks of a gate say to the model. A refusal is never
// silent: the agent would not know why it goes on.
func said(out hooks.Outcome) []Input {
	texts := out.Messages
	if len(texts) == 0 {
		texts = slices.Concat(out.AdditionalContext, out.Feedback)
	}
	if len(texts) == 0 && out.Decision == hooks.Block {
		return []Input{{Kind: FromHook, Text: string(out.Event) + " hook feedback:\nBlocked by hook"}}
	}
	var ins []Input
	for _, text := range texts {
		kind := FromContext
		if slices.Contains(out.Feedback, text) {
			kind = FromHook
		}
		ins = append(ins, Input{Kind: kind, Text: text})
	}
	return ins
}

// haltReason is why a hook halted, for people.
func haltReason(out hooks.Outcome) string {
	if out.StopReason == "" {
		return string(out.Event) + " hook prevented continuation"
	}
	return out.StopReason
}

// report tells the journal what a gate decided, and, after Stop hooks ran, sums
// them up.
func (u *turn) report(out hooks.Outcome, v Verdict) {
	texts := out.Feedback
	if v.Waits() { // hook_finished tells of it, and the model reads nothing
		texts = nil
	}
	if len(texts) == 0 && v.Refused() { // by a Stop hook's context, or without a word
		texts = inputTexts(v.Feedback)
	}
	for _, text := range texts {
		u.emit(HookFeedback{Event: string(out.Event), ToolUseID: out.ToolUseID, Text: text, Path: "turn_end"})
	}
	if v.Halted() {
		u.emit(HookStopped{Event: string(out.Event), ToolUseID: out.ToolUseID, Message: v.Halt})
	}
	// TaskCompleted and TeammateIdle have no summary and no notification
	// (HOOKS.md section 8, rule 20).
	if s := u.summary; out.Event == hooks.Stop && s != nil && s.Count > 0 {
		s.ToolUseID = out.ToolUseID
		s.Prevented, s.StopReason = v.Halted(), v.Halt
		// A negative duration marks a hook that never said how long it took;
		// the mark serves the pairing in rule 12 and is nobody else's business.
		for i := range s.Hooks {
			s.Hooks[i].DurationMS = max(s.Hooks[i].DurationMS, 0)
		}
		u.emit(*s)
		if len(s.Errors) > 0 {
			u.emit(Notified{Kind: "stop-hook-error",
				Message: "stop hook problem; `covey logs " + u.t.opts.Name + "` shows it"})
		}
	}
}

// decide reads one gate's outcome. A Stop hook's context sends the agent on, too.
func decide(out hooks.Outcome) Verdict {
	switch {
	case out.Decision == hooks.Halt:
		return Verdict{HaltedBy: out.Event, Halt: haltReason(out), Feedback: said(out)}
	case out.Decision == hooks.Await:
		return Verdict{Awaits: cmp.Or(out.Awaits, "an answer")}
	case out.Continues():
		return Verdict{Feedback: said(out)}
	}
	return Verdict{}
}
