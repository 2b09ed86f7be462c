package teammate

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Observe implements events.Observer.
func (run *agentRun) Observe(d events.Data) { run.u.at.emit(d) }

// Draft implements agent.Drafter.
func (run *agentRun) Draft() agent.Draft { return run.u.t.opts.Drafts.Of("") }

// Mail implements agent.Correspondent.
func (run *agentRun) Mail(ctx context.Context) []agent.Input {
	if ctx.Err() != nil || run.u.at.halted != "" || run.refusal != nil {
		return nil
	}
	inputs := run.u.mail(ctx, run.given)
	if run.u.at.halted != "" || ctx.Err() != nil { // mail has kept them for the next turn, or they still wait
		return nil
	}
	run.given = append(run.given, inputs...)
	return inputs
}

// Permit implements agent.Supervisor.
//
// The program makes the call itself, so covey can allow or deny it but not change it. A
// hook that wants another input therefore denies the call and says which input it wants.
// What cannot be judged, because the program does not say what it runs, is denied if a rule
// might forbid it.
func (run *agentRun) Permit(ctx context.Context, call agent.ToolCall) agent.Permission {
	tl := permitter{run.u.at}.foreign(call)
	if err := tl.Prepare(&call, run.u.t.opts.Workdir.Dir()); err != nil {
		return agent.Permission{Reason: permission.Invalid(call.Name, err)}
	}
	pre, err := run.u.at.fire(ctx, hooks.PreToolUseInput{
		ToolName: call.Name, ToolInput: call.Input, ToolUseID: call.ID,
	})
	switch {
	case ctx.Err() != nil:
		return agent.Permission{Reason: transcript.InterruptedResult}
	case err != nil: // the hooks that guard the call have not run
		run.u.at.warn("PreToolUse hook failed, so %s was not allowed: %v", call.Name, err)
		reason := fmt.Sprintf("The hooks that guard %s could not run, so it was not run.", call.Name)
		return agent.Permission{Reason: reason}
	}
	run.u.at.reportFeedback(pre)
	p := agent.Permission{Remarks: agent.Remarks{Feedback: agent.ContextInputs(pre.AdditionalContext), Halted: run.u.at.halted}}
	denied := events.PermissionDecided{ID: call.ID, Tool: call.Name, Decision: string(permission.Deny), By: "rule",
		Call: inShort(call)}
	rights, broke := run.u.t.opts.Rights.Now(), false
	if denied.Rule = rights.Undecidable(call); denied.Rule != "" {
		p.Reason = fmt.Sprintf("The agent program did not say what this %s call does, so the rule %s "+
			"may forbid it. Go on without it.", call.Name, denied.Rule)
	} else if denied.Rule, broke = rights.ShellBreaks(call, permitter{run.u.at}.callOf(call)); broke {
		p.Reason = fmt.Sprintf("The agent program runs a command for this %s, and the rule %s forbids it. Go on without it.",
			call.Name, denied.Rule)
	} else if pre.UpdatedInput != nil && !texts.SameJSON(pre.UpdatedInput, call.Input) {
		denied.By = "hook"
		p.Reason = fmt.Sprintf("A PreToolUse hook wants %s to be called with this input instead: %s",
			call.Name, pre.UpdatedInput)
	}
	if p.Reason != "" {
		run.u.at.emit(denied)
		return p
	}
	asked := call
	l := permitter{run.u.at}.permit(ctx, tl, &asked, pre)
	p.Reason, p.Halted = l.denial, run.u.at.halted
	p.Feedback = append(p.Feedback, agent.ContextInputs(l.extra)...)
	if p.Reason == "" && !texts.SameJSON(asked.Input, call.Input) {
		p.Reason = fmt.Sprintf("A PermissionRequest hook wants %s to be called with this input instead: %s",
			call.Name, asked.Input)
	}
	p.Allow = p.Reason == "" && ctx.Err() == nil
	if p.Allow {
		run.u.permitted.Add(call.ID)
	}
	return p
}

// Report implements agent.Supervisor.
func (run *agentRun) Report(ctx context.Context, call agent.ToolCall, r agent.ToolResult) agent.Remarks {
	tl := permitter{run.u.at}.foreign(call)
	if err := tl.Prepare(&call, run.u.t.opts.Workdir.Dir()); err != nil {
		call.Input = agent.ValidInput(nil) // hooks get an object whatever the program sent
	}
	if r.Rejected && !run.u.permitted.Has(call.ID) {
		return agent.Remarks{Halted: run.u.at.halted} // it did not run
	}
	if !run.u.permitted.Has(call.ID) {
		permitter{run.u.at}.detect(call, tl.Spec.Team)
	}
	r.Content = texts.Middle(r.Content, maxFailure)
	after := afterCall(madeCall{call, tl.Server(), run.u.permitted.Since(call.ID)}, r, ctx.Err() != nil)
	// The call was made, so its hooks run even if the turn has ended meanwhile.
	ctx, cancel := lastingContext(ctx)
	defer cancel()
	out, ok := run.u.at.try(ctx, after)
	if !ok {
		return agent.Remarks{Halted: run.u.at.halted}
	}
	run.u.at.reportFeedback(out)
	if _, ok := out.Output["updatedToolOutput"]; ok {
		run.u.at.warn("updatedToolOutput of a PostToolUse hook was ignored: %s was called by the agent's own program",
			call.Name)
	}
	return agent.Remarks{Feedback: hookInputs(out), Halted: run.u.at.halted}
}

// detect reports a call that was made without permission to the journal. A team tool
// needs no permission, so it is reported only if a rule forbids it.
func (p permitter) detect(call agent.ToolCall, team bool) {
	o := &p.at.t.opts
	c, may := p.callOf(call), p.at.t.opts.Rights.Now()
	forbids, broke := permission.ForbiddenBy(slices.Concat(may.Deny, may.Ask), c)
	rule := forbids.String()
	if !broke {
		rule, broke = may.ShellBreaks(call, c)
	}
	if planless := !team && may.EffectiveMode() == permission.ModePlan && !p.foreign(call).Spec.ReadOnly; planless {
		if !broke { // prefer a rule, because it also applies after the plan
			rule, broke = "permission mode plan", true
		}
		// It does not ask for permission, so only an interrupt can stop it.
		p.at.t.Interrupt("it makes changes before its plan is approved")
	}
	if team && !broke {
		return
	}
	p.at.emit(events.CallDetected{ID: call.ID, Tool: call.Name, Violated: rule})
	if broke {
		p.at.warn("%s called %s without asking, although the rule %s forbids it; the call was detected only afterwards",
			o.Name, call.Name, rule)
	}
}

// foreign returns a program's tool as rules and modes see it: the member's own tool of
// that name (a team tool that it calls over MCP), or what its name implies.
func (p permitter) foreign(call agent.ToolCall) *permission.Tool {
	if own := p.at.t.tools.Named(call.Name); own != nil {
		return &permission.Tool{Spec: own.Spec}
	}
	return permission.ProgramTool(call)
}
