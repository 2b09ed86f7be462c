package permission

import (
	"slices"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
)

// Behavior is the decision on a tool call.
type Behavior string

const (
	Allow Behavior = "allow"
	Deny  Behavior = "deny"
	Ask   Behavior = "ask"
)

// Call is a tool call that needs a decision.
type Call struct {
	Spec   agent.Spec
	Rules  rules.Call // in the form that rules match
	Hook   Behavior   // the decision of PreToolUse hooks; empty: none
	Inside bool       // all locations of the call are in the workspace
}

// Ruling describes whether a call may run, and what decided it.
type Ruling struct {
	Behavior Behavior
	By       string // rule, hook or mode
	Rule     string // the rule, as it was written
	Part     string // the part of a shell call's command line that the rule is about, if it denies the call
}

// Decide decides a call. Everything that forbids comes before everything that allows: a
// hook's deny, deny rules, ask rules, a hook's ask, plan mode; only then a hook's allow,
// allow rules and the mode. So neither a hook's allow nor bypassPermissions overrides a deny
// or ask rule (HOOKS.md 5.10).
func (p Policy) Decide(c Call) Ruling {
	if c.Hook == Deny {
		return Ruling{Behavior: Deny, By: "hook"}
	}
	if r, ok := ForbiddenBy(p.Deny, c.Rules); ok {
		return DeniedBy(r, c.Rules)
	}
	if r, ok := ForbiddenBy(p.Ask, c.Rules); ok {
		return p.Asked(Ruling{Behavior: Ask, By: "rule", Rule: r.String()})
	}
	if c.Hook == Ask {
		return p.Asked(Ruling{Behavior: Ask, By: "hook"})
	}
	s := c.Spec // a tool that is only Hinted needs a rule, a hook or a person below
	if p.EffectiveMode() == ModePlan && !s.ReadOnly && !s.Hinted && !s.Team && !s.Delegates {
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

// modeAllows reports whether the mode allows a call that no rule or hook has decided.
func (p Policy) modeAllows(c Call) bool {
	switch {
	case c.Spec.Team, c.Spec.Delegates, p.EffectiveMode() == ModeBypass:
		return true
	case c.Spec.ReadOnly:
		return c.Inside && !c.Spec.Web
	}
	return c.Spec.Edits && c.Inside && p.EffectiveMode() == ModeEdits
}

// Asked returns r; in mode dontAsk it turns a question into a denial.
func (p Policy) Asked(r Ruling) Ruling {
	if p.EffectiveMode() == ModeNoAsk {
		r.Behavior = Deny
	}
	return r
}

// DeniedBy returns the ruling of a deny rule that forbids a call.
func DeniedBy(r rules.Rule, call rules.Call) Ruling {
	return Ruling{Behavior: Deny, By: "rule", Rule: r.String(), Part: r.Part(call)}
}

// ForbiddenBy returns the first of list, which are deny or ask rules, that forbids call.
func ForbiddenBy(list []rules.Rule, call rules.Call) (rule rules.Rule, found bool) {
	i := slices.IndexFunc(list, func(r rules.Rule) bool { return r.Forbids(call) })
	if i < 0 {
		return rules.Rule{}, false
	}
	return list[i], true
}
