package teammate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
)

// The permission modes of a member.
const (
	modeDefault = "default"           // what is neither allowed nor harmless asks
	modePlan    = "plan"              // only tools that change nothing, and team tools
	modeEdits   = "acceptEdits"       // as default, but edits in the workspace pass
	modeNoAsk   = "dontAsk"           // as default, but what would ask is denied
	modeBypass  = "bypassPermissions" // everything that no rule or hook stops
)

// check finds a mode that does not exist.
func (p Permissions) check() error {
	if slices.Contains([]string{modeDefault, modePlan, modeEdits, modeNoAsk, modeBypass}, p.mode()) {
		return nil
	}
	return fmt.Errorf("permission mode %q: write default, plan, acceptEdits, dontAsk or bypassPermissions", p.Mode)
}

func (p Permissions) mode() string {
	if p.Mode == "" {
		return modeDefault
	}
	return p.Mode
}

// behavior is what is to happen with a tool call.
type behavior string

const (
	allow behavior = "allow"
	deny  behavior = "deny"
	ask   behavior = "ask"
)

// question is a tool call that waits for permission.
type question struct {
	spec   agent.Spec
	call   rules.Call
	hook   behavior // what PreToolUse hooks decided; empty: nothing
	inside bool     // all that the call reaches lies in the workspace
}

// ruling is the answer to a question.
type ruling struct {
	behavior behavior
	by       string // rule, hook or mode
	rule     string // the rule, as it was written
}

// decide answers a question. Whatever forbids comes before whatever allows:
// a hook's no, deny rules, ask rules, a hook's question, plan mode; only then
// a hook's yes, allow rules and what the mode lets pass. So neither a hook's
// yes nor bypassPermissions gets past a deny or an ask rule (HOOKS.md 5.10).
func (p Permissions) decide(q question) ruling {
	if q.hook == deny {
		return ruling{behavior: deny, by: "hook"}
	}
	if r, ok := forbiddenBy(p.Deny, q.call); ok {
		return ruling{behavior: deny, by: "rule", rule: r}
	}
	if r, ok := forbiddenBy(p.Ask, q.call); ok {
		return p.asked(ruling{behavior: ask, by: "rule", rule: r})
	}
	if q.hook == ask {
		return p.asked(ruling{behavior: ask, by: "hook"})
	}
	if p.mode() == modePlan && !q.spec.ReadOnly && !q.spec.Team && !q.spec.Delegates {
		return ruling{behavior: deny, by: "mode"}
	}
	if q.hook == allow {
		return ruling{behavior: allow, by: "hook"}
	}
	if r, ok := rules.PermittedBy(p.Allow, q.call); ok {
		return ruling{behavior: allow, by: "rule", rule: r.String()}
	}
	if p.modeAllows(q) {
		return ruling{behavior: allow, by: "mode"}
	}
	return p.asked(ruling{behavior: ask, by: "mode"})
}

// modeAllows says what passes when neither a rule nor a hook has spoken.
func (p Permissions) modeAllows(q question) bool {
	switch {
	case q.spec.Team, q.spec.Delegates, p.mode() == modeBypass:
		return true
	case q.spec.ReadOnly:
		return q.inside
	}
	return q.spec.Edits && q.inside && p.mode() == modeEdits
}

// asked is r where nobody may be asked: mode dontAsk turns a question into a no.
func (p Permissions) asked(r ruling) ruling {
	if p.mode() == modeNoAsk {
		r.behavior = deny
	}
	return r
}

// forbiddenBy names the first of rules, deny or ask rules, that catches call.
func forbiddenBy(rules []rules.Rule, call rules.Call) (string, bool) {
	for _, r := range rules {
		if r.Forbids(call) {
			return r.String(), true
		}
	}
	return "", false
}

// leave is whether a call may run.
type leave struct {
	denial string   // what the model is told of a call that may not; empty: it may
	beside []string // what it is told besides
}

// permitter decides whether a tool call of a turn may run: by hooks, rules and
// mode, and by whoever can be asked.
type permitter struct{ at *scope }

// permit asks for permission. A PermissionRequest hook may give call another
// input on the way.
func (p permitter) permit(ctx context.Context, tl *tool, call *agent.ToolCall, pre hooks.Outcome) leave {
	q := question{spec: tl.spec, call: p.callOf(*call), hook: p.hookSays(pre), inside: p.inside(tl, *call)}
	r := p.at.t.rights.now().decide(q)
	if _, ask := p.trespass(tl, *call); ask && r.behavior == allow {
		r = p.at.t.rights.now().asked(ruling{behavior: "ask", by: "rule", rule: "protect"})
	}
	who := r.by
	var l leave
	switch {
	case r.behavior == deny && r.by == "mode" && p.at.t.rights.now().mode() == modePlan:
		l.denial, who = p.refusedPlanning(ctx, tl, r, call)
	case r.behavior == deny:
		l.denial = p.refusalText(r, *call, pre)
		if reason, yes := automatic(pre); yes && r.by == "hook" {
			l.beside = p.denied(ctx, *call, reason)
		}
	case r.behavior == ask:
		l.denial, who = p.askSomebody(ctx, asking{tl, r, pre.Permission.Reason}, call)
		if who == ByTimeLimit {
			l.beside = p.denied(ctx, *call, l.denial)
		}
	}
	// Last, since a hook may have changed where the call goes.
	if refusal, ask := p.trespass(tl, *call); refusal != "" && !ask && l.denial == "" {
		l.denial, who, r.rule = refusal, "rule", "owns"
	}
	decided := agent.PermissionDecided{ID: call.ID, Tool: call.Name, Decision: string(allow), By: who, Rule: r.rule}
	if l.denial != "" {
		decided.Decision = string(deny)
	}
	p.at.emit(decided)
	return l
}

// callOf is a call as rules look at it.
func (p permitter) callOf(call agent.ToolCall) rules.Call {
	w := p.at.t.opts.Workdir
	return rules.Call{Tool: call.Name, Input: call.Input, Cwd: w.Dir(), Root: w.Root()}
}

// inside reports whether all that a call reaches lies in the workspace, or in a
// folder that was added to it.
func (p permitter) inside(tl *tool, call agent.ToolCall) bool {
	return inWorkspace(p.at.t.opts.Workdir, tl, call.Input, p.at.t.rights.beside()...)
}

// refusedPlanning is the no of plan mode. The PermissionRequest hooks hear of
// it, and may say it in their words; a yes of theirs does not end plan mode.
func (p permitter) refusedPlanning(ctx context.Context, tl *tool, r ruling, call *agent.ToolCall) (denial, who string) {
	asked := *call
	denial, decided := p.request(ctx, tl, r, &asked)
	if decided && denial != "" {
		return denial, "hook"
	}
	if decided {
		p.at.warn("a PermissionRequest hook allowed %s, but plan mode runs only tools that change nothing", call.Name)
	}
	return p.refusalText(r, *call, hooks.Outcome{}), r.by
}

// hookSays is what the PreToolUse hooks decided. A block is a deny. A defer that
// counts has ended the turn before (see deferral); one that does not is no say.
func (p permitter) hookSays(pre hooks.Outcome) behavior {
	if pre.Decision == hooks.Block {
		return deny
	}
	switch b := behavior(pre.Permission.Decision); b {
	case allow, deny, ask:
		return b
	}
	return ""
}

// asking is a question that decide could not answer.
type asking struct {
	tool   *tool
	ruling ruling
	reason string // why a hook asks
}

// askSomebody puts a call before whoever can be asked now (DESIGN 10.4): first
// the PermissionRequest hooks, then people. Where a hook asks and there is
// nobody, recorded hosts do not put it to other hooks.
func (p permitter) askSomebody(ctx context.Context, a asking, call *agent.ToolCall) (denial, who string) {
	byHook, asker := a.ruling.by == "hook", p.asker()
	if !byHook || asker != nil {
		if denial, decided := p.request(ctx, a.tool, a.ruling, call); decided {
			return denial, "hook"
		}
	}
	reason := "permission mode " + p.at.t.rights.now().mode()
	switch {
	case a.ruling.by == "rule":
		reason = "ask rule " + a.ruling.rule
	case byHook:
		reason = "a hook asks: " + a.reason
	}
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
	return p.notGiven(*call, reason, answer), who
}

// notGiven tells the model that nobody has allowed a call.
func (p permitter) notGiven(call agent.ToolCall, reason string, answer Answer) string {
	text := fmt.Sprintf("Permission to use %s was not given (%s), ", call.Name, reason)
	switch answer.By {
	case "":
		text += "for there is nobody to ask now. "
	case ByTimeLimit:
		text += "for nobody answered in time. "
	default:
		text += "and " + answer.By + " said no. "
	}
	if answer.Said != "" {
		return text + "What they said: " + answer.Said
	}
	return text + p.wayOut(call)
}

// refusalText tells the model why a call is denied.
func (p permitter) refusalText(r ruling, call agent.ToolCall, pre hooks.Outcome) string {
	switch {
	case r.by == "hook" && len(pre.Feedback) > 0:
		return strings.Join(pre.Feedback, "\n")
	case r.by == "hook" && pre.Permission.Reason != "":
		return fmt.Sprintf("PreToolUse:%s hook error: %s", call.Name, pre.Permission.Reason)
	case r.by == "hook":
		return fmt.Sprintf("PreToolUse:%s hook error: Blocked by hook", call.Name)
	case r.by == "rule":
		return fmt.Sprintf("Permission to use %s%s has been denied.", call.Name, command(call))
	case p.at.t.rights.now().mode() == modePlan:
		return fmt.Sprintf("%s was not run: you are in plan mode, where only tools that change nothing run. "+
			"Go on planning without it.", call.Name)
	}
	return fmt.Sprintf("Permission to use %s was not given, for permission mode dontAsk asks nobody. ", call.Name) +
		p.wayOut(call)
}

// wayOut says what can be done about a call that nobody could allow.
func (p permitter) wayOut(call agent.ToolCall) string {
	return fmt.Sprintf("Go on without it, or tell your lead what you need it for. A person can allow it for %s in "+
		"the team's spec: by a rule for %s under permissions.allow, or by another permission_mode.",
		p.at.t.opts.Name, call.Name)
}

// command shows the command of a shell call.
func command(call agent.ToolCall) string {
	var in struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(call.Input, &in) != nil || in.Command == "" {
		return ""
	}
	return " with command " + in.Command
}
