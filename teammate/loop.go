package teammate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// step passes the conversation to the agent. A nil step goes straight to the gates.
type step func(ctx context.Context, run *agentRun) (agent.Reply, error)

// converse runs the turn: the agent works, then the gates run, and a refusal
// starts the agent again with the feedback and the waiting mail.
func (u *turn) converse(ctx context.Context, next step) ending {
	for {
		if next != nil {
			if end, over := u.think(ctx, next); over {
				return end
			}
		}
		v, err := u.endTurn(ctx)
		if err != nil {
			return u.aborted(ctx, false)
		}
		if end, over := u.conclude(v); over {
			return end
		}
		mail := u.mail(ctx, nil)
		if u.at.halted != "" { // by a hook on a prompt among the mail
			u.at.keepInputs(v.Feedback)
			return u.stopped()
		}
		next = u.prompt(append(v.Feedback, mail...))
	}
}

// prompt returns the step that gives inputs to the agent.
func (u *turn) prompt(inputs []agent.Input) step {
	return func(ctx context.Context, run *agentRun) (agent.Reply, error) {
		run.given = slices.Clone(inputs)
		return u.t.opts.Agent.Run(ctx, inputs, run)
	}
}

// resumption returns the step that continues an interrupted turn.
func (u *turn) resumption(cut *transcript.Cut) step {
	if cut.Point == transcript.CutAtGates {
		return nil
	}
	if resumer, ok := u.t.opts.Agent.(agent.Resumer); ok {
		return func(ctx context.Context, run *agentRun) (agent.Reply, error) { return resumer.Resume(ctx, run) }
	}
	// An agent that cannot resume gets a prompt that says what happened.
	return func(ctx context.Context, run *agentRun) (agent.Reply, error) {
		if err := run.closeCalls(); err != nil {
			return agent.Reply{}, err
		}
		return u.prompt([]agent.Input{{Kind: agent.FromCovey, Text: transcript.CutNotice}})(ctx, run)
	}
}

// think runs the agent until it returns. over reports that the turn ends now,
// without gates.
func (u *turn) think(ctx context.Context, next step) (end ending, over bool) {
	run := &agentRun{u: u}
	reply, err := run.safely(ctx, next)
	// Whatever the agent returned, the transcript must be whole before anything is decided:
	// each call has a result, and each input that the model got is recorded. The order of
	// the cases below is that of precedence. The end of the context comes first, because an
	// agent may return any error then.
	if recordErr := run.completeTranscript(ctx, reply, err); recordErr != nil {
		return broken(recordErr), true
	}
	switch {
	case ctx.Err() != nil:
		u.at.keepInterruption(ctx)
		return u.aborted(ctx, run.inTool), true
	case run.deferred != "":
		return ending{reason: events.EndToolDeferred, idle: events.IdleStopped, attention: run.deferred,
			quiet: true}, true
	case u.at.halted != "" || reply.Halted != "":
		if u.at.stopped == "" { // by a tool of covey, which ran the hook
			u.at.stopped = "a hook stopped the turn: " + reply.Halted
		}
		return u.stopped(), true
	case run.refusal != nil:
		return u.limited(run.refusal), true
	case errors.Is(err, agent.ErrMaxTurns), errors.Is(err, agent.ErrMaxTokens):
		return u.limited(err), true
	case err != nil:
		return u.failedWith(err, run.unansweredInputs()), true
	}
	// An agent program reports its own calls in the reply; those of others went through the
	// host.
	if max(reply.ToolCalls, run.calls) > 0 {
		u.refusals = 0
	}
	u.lastText = strings.TrimSpace(reply.Text)
	return ending{}, false
}

// safely turns a panic of the agent into an error, so that one broken member does not end the team.
func (run *agentRun) safely(ctx context.Context, next step) (reply agent.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return next(ctx, run)
}

// conclude returns the ending for a verdict. over is false if the turn goes on.
func (u *turn) conclude(v Verdict) (end ending, over bool) {
	switch v.Decision {
	case Refused:
		return ending{}, false
	case Capped:
		return u.override(v), true
	case Awaits:
		return ending{reason: events.EndAwaiting, idle: events.IdleAwaiting, lastText: "it waits for " + v.Why}, true
	case Halted:
		u.at.keepInputs(v.Feedback)
		if v.By == hooks.Stop || v.By == hooks.SubagentStop {
			return ending{reason: events.EndStopPrevented, idle: events.IdleStopped,
				stopped: namedHook(v.By, v.hook, "stopped the turn", v.Why)}, true
		}
		return ending{reason: events.EndStopPrevented, err: fmt.Errorf("%w (%s): %s", ErrHalted, v.By, v.Why)}, true
	}
	return ending{reason: events.EndCompleted, idle: events.IdleAvailable}, true
}

// override ends a turn after too many refusals in a row. The last feedback is kept
// for the next prompt.
func (u *turn) override(last Verdict) ending {
	u.at.keepInputs(last.Feedback)
	attention := fmt.Sprintf("the gates refused its turn end %d times in a row", u.refusals)
	if last.Why != "" {
		attention += fmt.Sprintf(", the last time %s (in %s)",
			texts.Preview(last.Why, 200), u.t.opts.Workdir.Dir())
		if last.Said != "" {
			attention += ": " + texts.Short(last.Said, 200)
		}
	}
	u.at.warn("the gates refused the end of this turn %d times in a row (limits.stop_block_cap is %d), so it ends "+
		"anyway. A Stop hook can let the turn end when stop_hook_active is true. The last refusal was: %s",
		u.refusals, u.t.opts.Limits.StopBlockCap, hooks.Unframed(last.Feedback[len(last.Feedback)-1].Text))
	return ending{
		reason: events.EndCompleted, idle: events.IdleLimited,
		attention: attention,
	}
}

// broken is the ending of a turn whose agent or transcript has failed. It ends the
// member too; the member resumes the turn when it is started again.
func broken(err error) ending {
	return ending{reason: events.EndModelError, err: err, open: true}
}

// failed is the ending of a turn whose model request failed. The gates are skipped,
// because a refusal would repeat the failure for ever. StopFailure hooks run, and
// their output is ignored.
func (u *turn) failed(e *agent.APIError, owed []agent.Input) ending {
	text := "API Error: " + e.Message
	end := ending{
		reason: cmp.Or(e.End, events.EndCompleted), idle: events.IdleFailed, lastText: e.Error(),
		failure: &hooks.StopFailureInput{Error: e.Type, ErrorDetails: e.Details, LastAssistantMessage: text},
	}
	if u.t.helper != nil { // the member that called it handles the failure
		return end
	}
	end.lockout = events.TurnFailed{
		Error: e.Type, Text: e.Message, Passing: e.Passes(), Failed: 1, NoStart: e.NoStart,
	}
	// An agent that retains its conversation still has the inputs, and a failure that does
	// not pass would meet them again in every turn.
	if _, retains := u.t.opts.Agent.(agent.Retainer); !retains && e.Passes() {
		end.owed = owed
	}
	return end
}

// stopped is the ending of a turn that a hook of a tool call or a prompt stopped. A PermissionRequest
// hook that interrupts has the effect of a person's interrupt (HOOKS.md section 9, reason 5).
func (u *turn) stopped() ending {
	if u.at.interrupted {
		return ending{reason: events.EndAbortedTools, idle: events.IdleStopped}
	}
	return ending{reason: events.EndHookStopped, idle: events.IdleStopped, stopped: u.at.stopped}
}

// limited is the ending of a turn that reached one of its limits.
func (u *turn) limited(limit error) ending {
	end := ending{reason: events.EndMaxTurns, idle: events.IdleLimited, attention: limit.Error(), kind: events.AttentionLimit}
	switch {
	case errors.Is(limit, agent.ErrMaxTokens):
		end.reason = events.EndMaxTokens
	case errors.Is(limit, agent.ErrMaxBudget):
		end.reason = events.EndMaxBudget
	case errors.Is(limit, agent.ErrTeamBudget): // it ends the whole team, so this member needs no attention
		end.reason, end.attention, end.lastText = events.EndTeamBudget, "", limit.Error()
	default:
		end.attention = fmt.Sprintf("%v: %d passes in this turn", agent.ErrMaxTurns, u.passes)
	}
	return end
}

// stopping reports whether a turn ends because its member is told to stop. It is resumed then,
// unlike after an interrupt or its time limit.
func stopping(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return ctx.Err() != nil && !errors.Is(cause, agent.ErrInterrupted) && !errors.Is(cause, errTurnTimeout)
}

// aborted is the ending of a turn whose context has ended; inTool says that a tool
// call was running. A member that is told to stop leaves its turn open and resumes
// it when it is started again.
func (u *turn) aborted(ctx context.Context, inTool bool) ending {
	reason := events.EndAbortedStreaming
	if inTool {
		reason = events.EndAbortedTools
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, agent.ErrInterrupted):
		if u.t.helper == nil { // the member reports it for its helpers
			u.at.warn("the turn was %v", cause)
		}
		return ending{reason: reason, idle: events.IdleInterrupted}
	case errors.Is(cause, errTurnTimeout):
		return ending{reason: events.EndTurnTimeout, idle: events.IdleLimited,
			attention: fmt.Sprintf("%v: %v", errTurnTimeout, u.t.opts.Limits.TurnTimeout), kind: events.AttentionLimit}
	}
	return ending{reason: reason, err: cause, open: true}
}
