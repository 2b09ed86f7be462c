package teammate

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Pass implements Host.
//
// Its order matters: hooks of the last batch come before the limits, because they may end
// the turn, and mail comes last, because mail that was taken for a pass that does not begin
// would have to be kept. What was collected before a refusal is kept for the next turn.
func (run *agentRun) Pass(ctx context.Context) ([]agent.Input, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// endBatch returns something only if the agent itself answered the last call of a batch.
	told := append(run.endBatch(ctx), run.u.t.later.Drain()...)
	if run.refusal = run.withinLimits(); run.refusal != nil {
		run.u.at.keepInputs(told)
		return nil, run.refusal
	}
	mail := append(told, run.u.mail(ctx, run.given)...)
	switch {
	case ctx.Err() != nil:
		run.u.at.keepInputs(told)
		return nil, ctx.Err()
	case run.u.at.halted != "": // by a hook on a prompt among the mail
		run.u.at.keepInputs(told)
		run.refusal = errHookStopped
		return nil, run.refusal
	}
	run.u.t.cut.passed(mail)
	run.u.passes++
	run.u.at.emit(events.PassStarted{Pass: run.u.passes})
	run.given = append(run.given, mail...)
	return mail, nil
}

// Tools implements agent.Toolbox.
func (run *agentRun) Tools(ctx context.Context) []agent.Spec {
	if run.u.t.opts.Others == nil {
		return nil
	}
	return run.u.t.tools.Replace(run.u.t.opts.Others(ctx))
}

// withinLimits returns why no other pass may begin; nil: it may.
func (run *agentRun) withinLimits() error {
	limits := run.u.t.opts.Limits
	switch {
	case run.u.at.halted != "":
		return errHookStopped
	case limits.MaxTurns > 0 && run.u.passes >= limits.MaxTurns:
		return agent.ErrMaxTurns
	case run.u.t.opts.Purse != nil:
		return run.u.t.opts.Purse.Left(run.u.t.helper != nil)
	}
	return nil
}

// mail returns the member's waiting mail that is neither in the transcript nor in
// given, and notes about limits. An unreadable inbox delays mail but does not stop the
// turn.
func (u *turn) mail(ctx context.Context, given []agent.Input) []agent.Input {
	waiting, err := u.t.opts.Inbox.Waiting(ctx)
	if err != nil {
		if ctx.Err() == nil {
			u.at.warn("mail that waits could not be read: %v", err)
		}
		return nil
	}
	waiting = append(u.t.unseen(ctx, waiting), u.notes()...)
	inputs := u.submit(ctx, agent.Without(waiting, given))
	for _, in := range inputs { // a background hook's feedback on an earlier turn end
		u.refused = u.refused || in.Kind == agent.FromHook
	}
	// The prompts that were not looked at yet are kept with the others for the next turn.
	if u.at.halted != "" && ctx.Err() == nil {
		u.at.keepInputs(inputs)
		return nil
	}
	return inputs
}

// unseen returns inputs without those that the transcript already shows. It confirms
// these again: a crash came between the transcript and the confirmation.
func (t *Teammate) unseen(ctx context.Context, inputs []agent.Input) []agent.Input {
	fresh, shown := t.shown.Split(inputs)
	if err := t.confirm(shown); err != nil && ctx.Err() == nil {
		t.emit(events.Warning{Text: "mail that was shown before could not be confirmed: " + err.Error()})
	}
	return fresh
}

// submit runs the UserPromptSubmit hooks for each prompt of a person and each notice of
// a background helper; other mail and notices are not checked, as recorded. A refused
// prompt is dropped. Context from hooks goes before the prompt. A halt sets u.at.halted
// and ends the turn, and the result is then for the next turn.
func (u *turn) submit(ctx context.Context, inputs []agent.Input) []agent.Input {
	var passed []agent.Input
	for i, in := range inputs {
		if in.Kind != agent.FromPerson && in.Kind != agent.FromHelper {
			passed = append(passed, in)
			continue
		}
		out, ok := u.at.try(ctx, hooks.UserPromptSubmitInput{Prompt: in.Text, SessionTitle: u.t.title})
		switch {
		case ctx.Err() != nil:
			return append(passed, inputs[i:]...)
		case !ok:
			passed = append(passed, in)
		case out.Decision == hooks.Block:
			u.at.erase(in, out)
		default:
			u.at.applySessionOutput(out)
			passed = append(passed, agent.ContextInputs(out.AdditionalContext)...)
			if in.Kind == agent.FromPerson { // only a person types commands
				passed = append(passed, u.expand(ctx, in)...)
			} else {
				passed = append(passed, in)
			}
		}
		if out.Decision == hooks.Halt {
			u.at.halt(hooks.UserPromptSubmit, out)
			u.at.warn("Operation stopped by hook: %s", u.at.halted)
		}
	}
	return passed
}

// erase drops a prompt that a hook has refused: the model never sees it, and its
// author is told why.
func (s *hookContext) erase(in agent.Input, out hooks.Outcome) {
	why := strings.Join(out.SystemMessages, "\n")
	if string(out.Output["suppressOriginalPrompt"]) != "true" {
		why += "\n\nOriginal prompt: " + in.Text
	}
	s.warn("%s", why)
	if in.Kind == agent.FromPerson {
		s.stopped = namedHook(out.Event, out.Refuser(), "refused the prompt", cmp.Or(out.Refusal(), "Blocked by hook"))
	}
	if err := s.t.confirm(agent.MessageIDs([]agent.Input{in})); err != nil {
		s.warn("the refused prompt could not be confirmed as handled: %v", err)
	}
}

// namedHook returns for people what a hook has done and why. command may be empty.
func namedHook(event hooks.Event, command, did, why string) string {
	name := string(event) + " hook"
	if command != "" {
		name += " " + texts.Preview(command, 100)
	}
	return fmt.Sprintf("the %s %s: %s", name, did, why)
}

// halt records that a hook ended the turn with continue:false.
func (s *hookContext) halt(event hooks.Event, out hooks.Outcome) {
	reason := out.StopReason
	if reason == "" {
		reason = "Execution stopped by " + string(event) + " hook"
	}
	if s.halted == "" {
		s.halted, s.stopped = reason, namedHook(event, out.StoppedBy, "stopped the turn", reason)
	}
	s.emit(events.HookStopped{Event: string(event), ToolUseID: out.ToolUseID, Message: reason})
}
