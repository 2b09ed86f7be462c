package configs

import (
	"maps"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// OnLimit says what happens when a limit of the vendor behind an agent is hit.
type OnLimit string

// What happens at a vendor's limit.
const (
	WaitForLimit OnLimit = "wait"     // the member goes on when the limit is over
	FallBack     OnLimit = "fallback" // it goes on at once with its agent's Fallback
	StopAtLimit  OnLimit = "stop"     // the team ends
)

// Budget bounds what the whole team may use. Zero means no limit.
type Budget struct {
	Tokens  int64
	USD     float64       // where prices are known, in US dollars
	Time    time.Duration // that the team is up, over all its runs
	OnLimit OnLimit       // never empty
	Prices  string        // absolute path of a file whose prices come before covey's own; empty: none
}

// budgetSpec is the section `budget`.
type budgetSpec struct {
	at      *yaml.Node
	tokens  schema.Value[int64]
	usd     schema.Value[float64]
	time    schema.Value[time.Duration]
	onLimit schema.Value[string]
	prices  schema.Value[string]
}

// fields are the team's limits; 0 is none, as with those of members.
func (b *budgetSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "tokens", Part: schema.Count(&b.tokens),
			Doc: "Tokens of all members, such as 3M or 200k. 0: no limit. Default: no limit."},
		{Key: "usd", Part: schema.Amount(&b.usd),
			Doc: "Cost of all members in US dollars, where prices are known. 0: no limit. Default: no limit."},
		{Key: "time", Part: schema.Span(&b.time),
			Doc: "Time that the team is up, such as 2h. 0: no limit. Default: no limit."},
		{Key: "on_limit", Part: schema.OneOf(&b.onLimit, string(WaitForLimit), string(FallBack), string(StopAtLimit)),
			Doc: "What happens when an agent is at a limit of its vendor: wait until it is over; fallback, go on " +
				"with the agent's fallback; stop, end the team. Default: wait."},
		{Key: "prices", Part: schema.Text(&b.prices),
			Doc: "A file of prices, relative to the spec; they come before those that covey knows."},
	}
}

// budget resolves the team's budget.
func (r *resolver) budget(t *Team, s *budgetSpec) Budget {
	b := Budget{
		Tokens: s.tokens.V, USD: s.usd.V, Time: s.time.V,
		OnLimit: OnLimit(s.onLimit.Or(string(WaitForLimit))), Prices: r.path(s.prices, "price file"),
	}
	// A fallback that was refused is in t.Agents too, and no reason for a second message.
	falls := slices.ContainsFunc(slices.Collect(maps.Values(t.Agents)), func(a Agent) bool { return a.Fallback != "" })
	if b.OnLimit == FallBack && !falls {
		r.Warn(s.onLimit.At.At, "no member's agent has a fallback, so on_limit: fallback waits; "+
			"write agents: {NAME: {fallback: OTHER}}")
	}
	return b
}
