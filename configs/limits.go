package configs

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// Limits bound what a member may use. Zero means no limit.
type Limits struct {
	MaxTurns      int           // passes of one turn
	MaxTokens     int64         // tokens over the member's life
	TurnTimeout   time.Duration // wall time of one turn
	MaxInProgress int           // tasks in progress at once
	StopBlockCap  int           // refused turn ends in a row; default 8
	MaxBudgetUSD  float64       // cost over the member's life, in US dollars
	Background    time.Duration // how long the end of a command in the background is awaited; default 30 min
}

// defaultLimits returns the limits that hold when the spec gives none.
func defaultLimits() Limits {
	return Limits{
		MaxInProgress: 1, // a member that takes two tasks at once finishes neither
		StopBlockCap:  8,
		Background:    30 * time.Minute,
	}
}

// fields returns the limits. 0 means no limit in all of them, so that a member can remove
// one that it inherits.
func (l *Limits) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "max_turns", Part: yaml.Into(&l.MaxTurns, yaml.Whole[int]),
			Doc: "Passes (model requests) of one turn; for an agent program, prompts that it gets. 0: no limit. " +
				"Default: no limit."},
		{Key: "max_tokens", Part: yaml.Into(&l.MaxTokens, yaml.Count),
			Doc: "Tokens in all, such as 200000 or 200k. 0: no limit. Default: no limit."},
		{Key: "turn_timeout", Part: yaml.Into(&l.TurnTimeout, yaml.Span),
			Doc: "Time of one turn, such as 10m. 0: no limit. Default: no limit."},
		{Key: "max_in_progress", Part: yaml.Into(&l.MaxInProgress, yaml.Whole[int]),
			Doc: "Tasks in progress at once. 0: no limit. Default: 1."},
		{Key: "stop_block_cap", Part: yaml.Into(&l.StopBlockCap, yaml.Whole[int]),
			Doc: "Refused turn ends in a row before the member needs attention. 0: no limit. Default: 8."},
		{Key: "max_budget_usd", Part: yaml.Into(&l.MaxBudgetUSD, yaml.Amount),
			Doc: "Total cost in US dollars, as budget.usd counts it. 0: no limit. Default: no limit."},
		{Key: "background", Part: yaml.Into(&l.Background, yaml.Span),
			Doc: "How long the team waits for a command that a builtin agent runs in the background. 0: no limit. Default: 30m."},
	}
}

// tighten lowers limits to those of a policy, and returns the keys of those that were higher. Zero is no
// limit.
func (l *Limits) tighten(most Limits) (over []string) {
	return lowered(
		lower("max_turns", &l.MaxTurns, most.MaxTurns), lower("max_tokens", &l.MaxTokens, most.MaxTokens),
		lower("turn_timeout", &l.TurnTimeout, most.TurnTimeout), lower("max_in_progress", &l.MaxInProgress, most.MaxInProgress),
		lower("stop_block_cap", &l.StopBlockCap, most.StopBlockCap), lower("max_budget_usd", &l.MaxBudgetUSD, most.MaxBudgetUSD),
		lower("background", &l.Background, most.Background),
	)
}

// tighten is Limits.tighten for a budget.
func (b *Budget) tighten(most Budget) (over []string) {
	return lowered(lower("tokens", &b.Tokens, most.Tokens), lower("usd", &b.USD, most.USD), lower("time", &b.Time, most.Time))
}

// lower lowers a limit, and returns its key if it was higher.
func lower[T int | int64 | float64 | time.Duration](key string, limit *T, most T) string {
	if most == 0 || *limit != 0 && *limit <= most {
		return ""
	}
	*limit = most
	return key
}

// lowered returns the keys that are not empty.
func lowered(keys ...string) []string {
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" })
}

// OnLimit describes what happens at a limit of an agent's vendor.
type OnLimit string

// What happens at a vendor's limit.
const (
	WaitForLimit OnLimit = "wait"     // the member continues when the limit is over
	FallBack     OnLimit = "fallback" // the member continues at once with its agent's Fallback
	StopAtLimit  OnLimit = "stop"     // the team ends
)

// Budget bounds what the whole team may use. Zero means no limit.
type Budget struct {
	Tokens  int64
	USD     float64       // where prices are known, in US dollars
	Time    time.Duration // how long the team may be up, over all its runs
	OnLimit OnLimit       // never empty
	Prices  string        // absolute path of a file whose prices override covey's own; empty if there is none
	// PricedBy says which policy bounds dollars, as FILE:LINE, so that no price of the spec counts; empty: none does.
	PricedBy     string
	PolicyPrices PolicyRef // the file of prices that this policy names; zero: it names none
}

// budgetSpec is the section `budget`.
type budgetSpec struct {
	Budget
	at     *yaml.Node
	prices yaml.Value[string]
}

// fields returns the team's limits. 0 means no limit.
func (b *budgetSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "tokens", Part: yaml.Into(&b.Tokens, yaml.Count),
			Doc: "Tokens of all members, such as 3M or 200k. 0: no limit. Default: no limit."},
		{Key: "usd", Part: yaml.Into(&b.USD, yaml.Amount),
			Doc: "Cost of all members in US dollars, as far as agents tell it or prices are known; a model without a price is an error. 0: no limit. Default: no limit."},
		{Key: "time", Part: yaml.Into(&b.Time, yaml.Span),
			Doc: "How long the team may be up, such as 2h. 0: no limit. Default: no limit."},
		{Key: "on_limit", Part: yaml.IntoWord(&b.OnLimit, WaitForLimit, FallBack, StopAtLimit),
			Doc: "What happens when an agent is at a limit of its vendor: wait until it is over; fallback, continue " +
				"with the agent's fallback; stop, end the team. Default: wait."},
		{Key: "prices", Part: yaml.Text(&b.prices),
			Doc: "A file of prices, relative to the spec. They override the prices that covey knows."},
	}
}

// budget resolves the team's budget.
func (r *resolver) budget(t *Team, s *budgetSpec) Budget {
	b := s.Budget
	b.OnLimit, b.Prices = cmp.Or(b.OnLimit, WaitForLimit), r.Path(s.prices, "price file")
	// A fallback that was refused is in t.Agents too, so it causes no second message.
	hasFallback := slices.ContainsFunc(slices.Collect(maps.Values(t.Agents)),
		func(a Agent) bool { return a.Fallback != "" })
	if b.OnLimit == FallBack && !hasFallback {
		r.Warn(s.at.Lookup("on_limit").At, "no member's agent has a fallback, so on_limit: fallback waits; "+
			"write agents: {NAME: {fallback: OTHER}}")
	}
	return b
}

// Restart describes how often a member whose agent fails is restarted.
type Restart struct {
	Max    int           // restarts in Within; 0 means none
	Within time.Duration // never 0 in a resolved spec
	// Given means that the spec sets this for the member or under defaults; if set, failed turns count as failures.
	Given bool
}

// restartSpec describes how often a member is restarted.
type restartSpec struct {
	at     *yaml.Node
	max    yaml.Value[int]
	within yaml.Value[time.Duration]
}

// fields returns the number of restarts and the time in which they count.
func (r *restartSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "max", Need: true, Part: yaml.WholeFrom(0, 1000)(&r.max),
			Doc: "How often it is restarted after its agent has failed. 0: never."},
		{Key: "within", Part: yaml.SomeTime(&r.within),
			Doc: "The time in which restarts are counted; earlier ones do not count. Default: 1h."},
	}
}

// restart resolves how often a member is restarted. A max of 0 means never; without a max
// the default applies.
func (r *resolver) restart(s *restartSpec) Restart {
	return Restart{Max: s.max.Or(defaultRestarts), Within: s.within.Or(defaultRestartWithin), Given: s.at != nil}
}
