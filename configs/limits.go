package configs

import (
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

// limitSpec bounds what a member may use.
type limitSpec struct {
	maxTurns      yaml.Value[int64]
	maxTokens     yaml.Value[int64]
	turnTimeout   yaml.Value[time.Duration]
	maxInProgress yaml.Value[int64]
	stopBlockCap  yaml.Value[int64]
	maxBudgetUSD  yaml.Value[float64]
	background    yaml.Value[time.Duration]
}

// fields returns the limits. 0 means no limit in all of them, so that a member can remove
// one that it inherits.
func (l *limitSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "max_turns", Part: yaml.Whole(&l.maxTurns),
			Doc: "Passes (model requests) of one turn; for an agent program, prompts that it gets. 0: no limit. " +
				"Default: no limit."},
		{Key: "max_tokens", Part: yaml.Count(&l.maxTokens),
			Doc: "Tokens in all, such as 200000 or 200k. 0: no limit. Default: no limit."},
		{Key: "turn_timeout", Part: yaml.Span(&l.turnTimeout),
			Doc: "Time of one turn, such as 10m. 0: no limit. Default: no limit."},
		{Key: "max_in_progress", Part: yaml.Whole(&l.maxInProgress),
			Doc: "Tasks in progress at once. 0: no limit. Default: 1."},
		{Key: "stop_block_cap", Part: yaml.Whole(&l.stopBlockCap),
			Doc: "Refused turn ends in a row before the member needs attention. 0: no limit. Default: 8."},
		{Key: "max_budget_usd", Part: yaml.Amount(&l.maxBudgetUSD),
			Doc: "Total cost in US dollars, as budget.usd counts it. 0: no limit. Default: no limit."},
		{Key: "background", Part: yaml.Span(&l.background),
			Doc: "How long the team waits for a command that a builtin agent runs in the background. 0: no limit. Default: 30m."},
	}
}

// inherit returns l with the limits that it does not give taken from defaults.
func (l limitSpec) inherit(defaults limitSpec) limitSpec {
	return limitSpec{
		maxTurns:      first(l.maxTurns, defaults.maxTurns),
		maxTokens:     first(l.maxTokens, defaults.maxTokens),
		turnTimeout:   first(l.turnTimeout, defaults.turnTimeout),
		maxInProgress: first(l.maxInProgress, defaults.maxInProgress),
		stopBlockCap:  first(l.stopBlockCap, defaults.stopBlockCap),
		maxBudgetUSD:  first(l.maxBudgetUSD, defaults.maxBudgetUSD),
		background:    first(l.background, defaults.background),
	}
}

// The limits that hold when the spec gives none.
const (
	defaultMaxInProgress = 1 // a member that takes two tasks at once finishes neither
	defaultStopBlockCap  = 8 // refused turn ends in a row
	defaultBackground    = 30 * time.Minute
)

// resolve returns the limits with their defaults.
func (l limitSpec) resolve() Limits {
	return Limits{
		MaxTurns:      int(l.maxTurns.V),
		MaxTokens:     l.maxTokens.V,
		TurnTimeout:   l.turnTimeout.V,
		MaxInProgress: int(l.maxInProgress.Or(defaultMaxInProgress)),
		StopBlockCap:  int(l.stopBlockCap.Or(defaultStopBlockCap)),
		MaxBudgetUSD:  l.maxBudgetUSD.V,
		Background:    l.background.Or(defaultBackground),
	}
}
