package configs

import (
	"maps"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// OnLimit says what happens at a limit of an agent's vendor.
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
}

// budgetSpec is the section `budget`.
type budgetSpec struct {
	at      *yaml.Node
	tokens  yaml.Value[int64]
	usd     yaml.Value[float64]
	time    yaml.Value[time.Duration]
	onLimit yaml.Value[string]
	prices  yaml.Value[string]
}

// fields returns the team's limits. 0 means no limit.
func (b *budgetSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "tokens", Part: yaml.Count(&b.tokens),
			Doc: "Tokens of all members, such as 3M or 200k. 0: no limit. Default: no limit."},
		{Key: "usd", Part: yaml.Amount(&b.usd),
			Doc: "Cost of all members in US dollars, as far as agents tell it or prices are known; a model without a price is an error. 0: no limit. Default: no limit."},
		{Key: "time", Part: yaml.Span(&b.time),
			Doc: "How long the team may be up, such as 2h. 0: no limit. Default: no limit."},
		{Key: "on_limit", Part: yaml.OneOf(&b.onLimit, string(WaitForLimit), string(FallBack), string(StopAtLimit)),
			Doc: "What happens when an agent is at a limit of its vendor: wait until it is over; fallback, continue " +
				"with the agent's fallback; stop, end the team. Default: wait."},
		{Key: "prices", Part: yaml.Text(&b.prices),
			Doc: "A file of prices, relative to the spec. They override the prices that covey knows."},
	}
}

// budget resolves the team's budget.
func (r *resolver) budget(t *Team, s *budgetSpec) Budget {
	b := Budget{
		Tokens: s.tokens.V, USD: s.usd.V, Time: s.time.V,
		OnLimit: OnLimit(s.onLimit.Or(string(WaitForLimit))), Prices: r.Path(s.prices, "price file"),
	}
	// A fallback that was refused is in t.Agents too, so it causes no second message.
	hasFallback := slices.ContainsFunc(slices.Collect(maps.Values(t.Agents)),
		func(a Agent) bool { return a.Fallback != "" })
	if b.OnLimit == FallBack && !hasFallback {
		r.Warn(s.onLimit.At.At, "no member's agent has a fallback, so on_limit: fallback waits; "+
			"write agents: {NAME: {fallback: OTHER}}")
	}
	return b
}
