package teammate

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
)

// fire runs the hooks of one event for this turn and reports each of them to the
// journal. Its error is ctx's cause when the turn is over, and otherwise a fault of
// covey: the failures of hooks are in the outcome.
func (s *hookContext) fire(ctx context.Context, in hooks.Payload) (out hooks.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil { // a fault of covey must not end the team
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	summary := &events.HookSummary{Errors: []string{}, Hooks: []events.HookTiming{}}
	out, err = s.t.opts.Hooks.Run(ctx, hooks.Input{Common: s.common(in.Event()), Payload: in},
		func(p hooks.Progress) {
			if p.Background != nil { // possibly long after this event
				s.onBackgroundHook(in, p)
				return
			}
			addProgress(summary, p)
			s.emit(HookEvent(p))
		})
	// The hooks were killed or did not begin; what they have said so far decides nothing
	// and is not passed on.
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	s.tell(in, out)
	if in.Event() == hooks.Stop {
		s.summary = summary
	}
	return out, err
}

// try is fire for events whose hooks stop nothing by failing: an error becomes a
// warning, unless ctx has ended, and ok is false.
func (s *hookContext) try(ctx context.Context, in hooks.Payload) (out hooks.Outcome, ok bool) {
	out, err := s.fire(ctx, in)
	if err != nil && ctx.Err() == nil {
		s.warn("%s hook failed: %v", in.Event(), err)
	}
	return out, err == nil
}

// tell passes on the messages for people. erase reports a refused prompt. A warning
// about the configuration appears once, not with every event.
func (s *hookContext) tell(in hooks.Payload, out hooks.Outcome) {
	event := in.Event()
	refused := (event == hooks.UserPromptSubmit || event == hooks.UserPromptExpansion) && out.Decision == hooks.Block
	for _, text := range out.SystemMessages {
		if !refused {
			s.warn("%s says: %s", hooks.Input{Payload: in}.HookName(), text)
		}
	}
	for _, text := range out.Warnings {
		if s.t.root().told.first(text) {
			s.warn("%s", text)
		}
	}
}

// told are texts that people were told. It is safe for concurrent use.
type told struct {
	mu    sync.Mutex
	texts map[string]bool
}

// first reports, once for each text, that people have not been told it.
func (o *told) first(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.texts[text] {
		return false
	}
	if o.texts == nil {
		o.texts = map[string]bool{}
	}
	o.texts[text] = true
	return true
}

// common returns the fields that every hook input begins with. Which events carry the
// permission mode follows recorded hosts (HOOKS.md section 2); a TaskCompleted that a
// tool causes does not.
//
// The path of the transcript is always the member's, also for a helper, as hosts were
// recorded. A lead has no agent id, because its hooks are those of a plain session.
func (s *hookContext) common(event hooks.Event) hooks.Common {
	o := &s.t.opts
	c := hooks.Common{
		SessionID:      o.SessionID,
		TranscriptPath: o.Transcript.Path(),
		Cwd:            o.Workdir.Dir(),
		PromptID:       s.promptID,
	}
	if e := s.t.helper; e != nil {
		c.TranscriptPath = s.t.root().opts.Transcript.Path()
		c.AgentID, c.AgentType = e.id, e.Type
	} else if !o.Lead {
		c.AgentID = o.Name + "@" + o.Team
		c.AgentType = o.Name
	}
	if s.outside {
		return c
	}
	switch event {
	case hooks.UserPromptSubmit, hooks.UserPromptExpansion, hooks.PreToolUse, hooks.PermissionRequest, hooks.PermissionDenied,
		hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch, hooks.Stop,
		hooks.SubagentStop, hooks.TaskCompleted, hooks.TeammateIdle:
		c.PermissionMode = s.t.opts.Rights.Now().EffectiveMode()
	}
	return c
}

// HookEvent returns the journal event for a hook that started or ended. It also
// serves callers that run hooks for a member whose session has not begun.
func HookEvent(p hooks.Progress) events.Data {
	if p.Result == nil {
		return events.HookStarted{Event: string(p.Event), ToolUseID: p.ToolUseID, Command: p.Command, Status: p.Status}
	}
	r, awaits := p.Result, ""
	if r.Wait != nil {
		awaits = r.Wait.For
	}
	return events.HookFinished{
		Event: string(p.Event), ToolUseID: p.ToolUseID, Command: p.Command,
		Outcome: string(r.Outcome), ExitCode: r.ExitCode, DurationMS: r.Duration.Milliseconds(),
		Stdout: r.Stdout, Stderr: r.Stderr, Warning: r.Warning, FailedOpen: r.FailedOpen,
		Background: p.Background != nil,
		Observed:   r.Observed, Awaits: awaits,
	}
}

// addProgress adds a hook's progress to a turn end's summary (HOOKS.md section 8, rules 11
// and 12). Hooks run in parallel, so a duration goes to the first hook with that
// command that has none yet.
func addProgress(s *events.HookSummary, p hooks.Progress) {
	s.ToolUseID = p.ToolUseID
	if p.Result == nil {
		s.Count++
		s.Hooks = append(s.Hooks, events.HookTiming{Command: p.Command, DurationMS: -1})
		return
	}
	for i := range s.Hooks {
		if s.Hooks[i].Command == p.Command && s.Hooks[i].DurationMS < 0 {
			s.Hooks[i].DurationMS = p.Result.Duration.Milliseconds()
			break
		}
	}
	addResult(s, p.Result)
}

// addResult adds one hook's output and error to the summary. A hook that timed out or was
// aborted has neither.
func addResult(s *events.HookSummary, r *hooks.Result) {
	switch r.Outcome {
	case hooks.Blocking:
		s.Errors = append(s.Errors, r.Feedback)
		s.HasOutput = true
	case hooks.NonBlockingError:
		text := strings.TrimSpace(r.Stderr)
		if text == "" {
			text = fmt.Sprintf("Exit code %d", r.ExitCode)
		}
		s.Errors = append(s.Errors, text)
		s.HasOutput = true
	case hooks.Success:
		s.HasOutput = s.HasOutput || strings.TrimSpace(r.Stdout) != "" || strings.TrimSpace(r.Stderr) != ""
	}
}
