package teammate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// callVerdict describes whether a call may run.
type callVerdict struct {
	denial string   // the denial for the model; empty if the call may run
	extra  []string // additional text for the model
}

// permitter decides whether a tool call of a turn may run: by hooks, rules, mode, and
// the answer of a person.
type permitter struct{ at *hookContext }

// permit decides a call. A PermissionRequest hook may change the input of call.
func (p permitter) permit(ctx context.Context, tl *permission.Tool, call *agent.ToolCall, pre hooks.Outcome) callVerdict {
	c := permission.Call{Spec: tl.Spec, Rules: p.callOf(*call), Hook: permission.SaidBy(pre), Inside: p.inside(tl, *call)}
	r := p.at.t.opts.Rights.Now().Decide(c)
	// A protected file is asked about, whatever allowed the call.
	if refusal := p.unwritable(tl, *call); refusal.Ask && r.Behavior == permission.Allow {
		r = p.at.t.opts.Rights.Now().Asked(permission.Ruling{Behavior: permission.Ask, By: "rule", Rule: refusal.Rule})
	}
	who := r.By
	var l callVerdict
	switch {
	case r.Behavior == permission.Deny && r.By == "mode" && p.at.t.opts.Rights.Now().EffectiveMode() == permission.ModePlan:
		l.denial, who = p.refusedPlanning(ctx, tl, r, call)
	case r.Behavior == permission.Deny:
		l.denial = p.at.t.opts.Rights.Now().Denial(p.at.t.opts.Name, r, *call, pre)
		if reason, yes := pre.ModelDenial(); yes && r.By == "hook" {
			l.extra = p.denied(ctx, tl, *call, reason)
		}
	case r.Behavior == permission.Ask:
		l.denial, who = p.askSomebody(ctx, asking{tl, r, pre.Permission.Reason}, call)
		if who == ByTimeLimit {
			l.extra = p.denied(ctx, tl, *call, l.denial)
		}
	}
	// Checked last, because a hook may have changed the target of the call.
	person := r.Behavior == permission.Ask && who != "hook"
	if refusal := p.unwritable(tl, *call); l.denial == "" && refusal.Holds(r, person, p.inside(tl, *call)) {
		l.denial, who, r.Rule = refusal.Text, "rule", refusal.Rule
	}
	decided := events.PermissionDecided{
		ID: call.ID, Tool: call.Name, Decision: string(permission.Allow), By: who, Rule: r.Rule,
	}
	if l.denial != "" {
		decided.Decision, decided.Call = string(permission.Deny), inShort(*call)
		if who == "mode" {
			decided.Mode = p.at.t.opts.Rights.Now().EffectiveMode()
		}
	}
	p.at.emit(decided)
	return l
}

// inShort returns the beginning of what a call would do, as one line for people.
func inShort(call agent.ToolCall) string {
	const most = 200
	return texts.Clip(texts.Unbroken(texts.MainInput(call.Input)), most)
}

// callOf returns a call in the form that rules match.
func (p permitter) callOf(call agent.ToolCall) rules.Call {
	w := p.at.t.opts.Workdir
	return rules.Call{Tool: call.Name, Input: call.Input, Cwd: w.Dir(), Root: w.Root()}
}

// inside reports whether all locations of a call are in the workspace or in an added
// folder.
func (p permitter) inside(tl *permission.Tool, call agent.ToolCall) bool {
	return tl.Inside(p.at.t.opts.Workdir, call.Input, p.at.t.opts.Rights.Folders()...)
}

// unwritable returns what forbids a call to write its files (Options.Writable).
func (p permitter) unwritable(tl *permission.Tool, call agent.ToolCall) permission.Refusal {
	return p.at.t.opts.Writable.Refusal(tl, call, p.at.t.opts.Workdir.Dir())
}

// refusedPlanning denies a call in plan mode. The PermissionRequest hooks run and may
// supply the text of the denial, but they cannot end plan mode.
func (p permitter) refusedPlanning(
	ctx context.Context, tl *permission.Tool, r permission.Ruling, call *agent.ToolCall,
) (denial, who string) {
	asked := *call
	denial, decided := p.request(ctx, tl, r, &asked)
	if decided && denial != "" {
		return denial, "hook"
	}
	if decided {
		p.at.warn("a PermissionRequest hook allowed %s, but plan mode runs only tools that change nothing", call.Name)
	}
	return p.at.t.opts.Rights.Now().Denial(p.at.t.opts.Name, r, *call, hooks.Outcome{}), r.By
}

// asking is a call that Decide left open.
type asking struct {
	tool   *permission.Tool
	ruling permission.Ruling
	reason string // why a hook asks
}

// askSomebody asks about a call: first the PermissionRequest hooks, then
// people. If a hook asks and nobody is present, the PermissionRequest hooks do not run,
// as in recorded hosts.
func (p permitter) askSomebody(ctx context.Context, a asking, call *agent.ToolCall) (denial, who string) {
	byHook, asker := a.ruling.By == "hook", p.asker()
	if !byHook || asker != nil {
		asked := *call
		denial, decided := p.request(ctx, a.tool, a.ruling, &asked)
		held, isHeld := permission.ForbiddenBy(p.at.t.opts.Rights.Now().Held, p.callOf(*call))
		switch {
		case decided && denial == "" && isHeld:
			p.at.warn("a PermissionRequest hook allowed %s, but the policy's rule %s asks a person", call.Name, held)
		case decided:
			*call = asked
			return denial, "hook"
		}
	}
	reason := "permission mode " + p.at.t.opts.Rights.Now().EffectiveMode()
	switch {
	case a.ruling.By == "rule":
		reason = "ask rule " + a.ruling.Rule
	case byHook:
		reason = "a hook asks: " + a.reason
	}
	// Without an asker the answer stays empty, and the call is denied because nobody could
	// be asked.
	var answer Answer
	if asker != nil {
		p.at.notify(ctx, "permission_prompt", fmt.Sprintf("%s needs your permission to use %s", p.at.t.opts.Name,
			call.Name))
		answer = asker.Ask(ctx, Question{Member: p.at.t.opts.Name, Call: *call, Reason: reason})
		if answer.Allow && ctx.Err() == nil {
			return "", answer.By
		}
	}
	who = cmp.Or(answer.By, "nobody")
	if byHook && a.reason != "" && answer.Said == "" {
		return a.reason, who
	}
	return p.notGrantedText(*call, reason, answer), who
}

// notGrantedText returns the text that tells the model that a call was not allowed.
func (p permitter) notGrantedText(call agent.ToolCall, reason string, answer Answer) string {
	text := fmt.Sprintf("Permission to use %s was not given (%s), ", call.Name, reason)
	switch answer.By {
	case "":
		text += "because nobody can be asked now. "
	case ByTimeLimit:
		text += "because nobody answered in time. "
	default:
		text += "and " + answer.By + " said no. "
	}
	if answer.Said != "" {
		return text + "What they said: " + answer.Said
	}
	return text + p.at.t.opts.Rights.Now().Advice(p.at.t.opts.Name, call)
}
