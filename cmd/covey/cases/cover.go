package cases

import (
	"cmp"
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/orchestrator/view"
)

// Covered is a rule, hook or gate of a spec, and how often cases have made it agree and refuse. An allow rule
// agrees to a call that it allows. A deny or ask rule refuses what it forbids. Each does the other with the
// other calls of its tool.
type Covered struct {
	Spec    string `json:"spec"`
	Kind    string `json:"kind"` // deny rule, ask rule, allow rule, hook or gate
	Name    string `json:"name"`
	Agreed  int    `json:"agreed"`
	Refused int    `json:"refused"`
	Alike   bool   `json:"only_runs"` // it can refuse nothing, so Agreed counts its runs
}

// Whole reports whether cases have shown all that it can do.
func (c Covered) Whole() bool { return c.Agreed > 0 && (c.Refused > 0 || c.Alike) }

// Missing says what no case has made it do.
func (c Covered) Missing() string {
	switch {
	case c.Whole():
		return ""
	case c.Alike:
		return "never ran"
	case c.Agreed == 0 && c.Refused == 0:
		return "never agreed, never refused"
	case c.Agreed == 0:
		return "never agreed"
	}
	return "never refused"
}

// decided is something that a case has made a rule or hook do.
type decided struct {
	kind, name string
	refused    bool
}

// The kinds of what is covered.
const (
	hookKind = "hook"
	gateKind = "gate"
)

// Cover counts what the cases have made the rules, hooks and gates of their specs do. results has a result for
// each of prepared, in that order.
func Cover(prepared []*Prepared, results []Result) []Covered {
	var list []Covered
	at := map[[3]string]int{}
	for i, p := range prepared {
		for _, c := range p.toCover() {
			key := [3]string{c.Spec, c.Kind, c.Name}
			if _, known := at[key]; !known {
				at[key] = len(list)
				list = append(list, c)
			}
		}
		for _, d := range results[i].seen {
			j, known := at[[3]string{cmp.Or(p.File.SpecPath(p.suite.Default), p.File.Path), d.kind, d.name}]
			switch {
			case !known:
			case d.refused:
				list[j].Refused++
			default:
				list[j].Agreed++
			}
		}
	}
	return list
}

// toCover lists the rules, hooks and gates of the team.
func (p *Prepared) toCover() (list []Covered) {
	add := func(kind, name string, alike bool) {
		c := Covered{Spec: cmp.Or(p.File.SpecPath(p.suite.Default), p.File.Path), Kind: kind, Name: name, Alike: alike}
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	for _, r := range p.rules() {
		add(r.kind, r.rule.String(), false)
	}
	for _, h := range p.hooks {
		if h.Never != "" || h.Observes {
			continue
		}
		kind := hookKind
		if h.Gate {
			kind = gateKind
		}
		add(kind, h.Event+" "+h.Command, !hooks.InfoOf(hooks.Event(h.Event)).Blocks && h.Event != atMerge)
	}
	return list
}

// ruleKind is a permission rule of the team and which list it is in.
type ruleKind struct {
	kind string
	rule rules.Rule
}

// rules lists the permission rules of members and of settings files.
func (p *Prepared) rules() (list []ruleKind) {
	add := func(kind string, texts ...string) {
		for _, text := range texts {
			r, err := rules.Parse(text)
			known := func(k ruleKind) bool { return k.kind == kind && k.rule.String() == r.String() }
			if err == nil && !slices.ContainsFunc(list, known) {
				list = append(list, ruleKind{kind, r})
			}
		}
	}
	s := p.layers.Settings
	add(ruleOf(Deny), s.Deny...)
	add(ruleOf(Ask), s.Ask...)
	add(ruleOf(Allow), s.Allow...)
	for m := range p.team.EachAndTemplates() {
		add(ruleOf(Deny), m.Permissions.Deny...)
		add(ruleOf(Ask), m.Permissions.Ask...)
		add(ruleOf(Allow), m.Permissions.Allow...)
	}
	return list
}

// ruleOf returns the kind of the rules of a list.
func ruleOf(d Decision) string { return string(d) + " rule" }

// decided returns what a run with these calls has made the rules and hooks of the team do.
func (r *record) decided(p *Prepared, calls []madeCall) (list []decided) {
	for _, k := range p.rules() {
		for _, c := range calls {
			if k.rule.Tool != c.Tool && !k.rule.MayFire(c.Tool) {
				continue
			}
			refused := k.rule.Forbids(c.Call)
			if k.kind == ruleOf(Allow) {
				refused = c.decision != Allow
				if !refused && !k.rule.Permits(c.Call) {
					continue // something else has allowed it
				}
			}
			list = append(list, decided{k.kind, k.rule.String(), refused})
		}
	}
	for _, e := range r.lines {
		d, ok := e.Data.(events.HookFinished)
		if !ok || d.Outcome == "cancelled" {
			continue
		}
		event := d.Event
		if slices.ContainsFunc(r.state.Gates, func(g *view.Gate) bool { return g.ID == d.ToolUseID && g.Merge != "" }) {
			event = atMerge
		}
		for _, kind := range []string{hookKind, gateKind} {
			list = append(list, decided{kind, event + " " + d.Command, d.Outcome == "blocking"})
		}
	}
	return list
}
