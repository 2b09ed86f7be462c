package permission

import (
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
)

// Behavior is what is to happen with a tool call.
type Behavior string

const (
	Allow Behavior = "allow"
	Deny  Behavior = "deny"
	Ask   Behavior = "ask"
)

// Call is a tool call that waits for permission.
type Call struct {
	Spec   agent.Spec
	Rules  rules.Call // as rules look at it
	Hook   Behavior   // what PreToolUse hooks decided; empty: nothing
	Inside bool       // all that the call reaches lies in the workspace
}

// Ruling is whether a call may run, and who decided it.
type Ruling struct {
	Behavior Behavior
	By       string // rule, hook or mode
	Rule     string // the rule, as it was written
}

// Decide rules on a call. Whatever forbids comes before whatever allows:
// a hook's no, deny rules, ask rules, a hook's question, plan mode; only then
// a hook's yes, allow rules and what the mode lets pass. So neither a hook's
// yes nor bypassPermissions gets past a deny or an ask rule (HOOKS.md 5.10).
func (p Policy) Decide(c Call) Ruling {
	if c.Hook == Deny {
		return Ruling{Behavior: Deny, By: "hook"}
	}
	if r, ok := ForbiddenBy(p.Deny, c.Rules); ok {
		return Ruling{Behavior: Deny, By: "rule", Rule: r}
	}
	if r, ok := ForbiddenBy(p.Ask, c.Rules); ok {
		return p.Asked(Ruling{Behavior: Ask, By: "rule", Rule: r})
	}
	if c.Hook == Ask {
		return p.Asked(Ruling{Behavior: Ask, By: "hook"})
	}
	if p.EffectiveMode() == ModePlan && !c.Spec.ReadOnly && !c.Spec.Team && !c.Spec.Delegates {
		return Ruling{Behavior: Deny, By: "mode"}
	}
	if c.Hook == Allow {
		return Ruling{Behavior: Allow, By: "hook"}
	}
	if r, ok := rules.PermittedBy(p.Allow, c.Rules); ok {
		return Ruling{Behavior: Allow, By: "rule", Rule: r.String()}
	}
	if p.modeAllows(c) {
		return Ruling{Behavior: Allow, By: "mode"}
	}
	return p.Asked(Ruling{Behavior: Ask, By: "mode"})
}

// modeAllows says what passes when neither a rule nor a hook has spoken.
func (p Policy) modeAllows(c Call) bool {
	switch {
	case c.Spec.Team, c.Spec.Delegates, p.EffectiveMode() == ModeBypass:
		return true
	case c.Spec.ReadOnly:
		return c.Inside
	}
	return c.Spec.Edits && c.Inside && p.EffectiveMode() == ModeEdits
}

// Asked returns r, with a denial in place of a question in mode dontAsk.
func (p Policy) Asked(r Ruling) Ruling {
	if p.EffectiveMode() == ModeNoAsk {
		r.Behavior = Deny
	}
	return r
}

// ForbiddenBy returns the first of rules, deny or ask rules, that matches call.
func ForbiddenBy(rules []rules.Rule, call rules.Call) (string, bool) {
	for _, r := range rules {
		if r.Forbids(call) {
			return r.String(), true
		}
	}
	return "", false
}
