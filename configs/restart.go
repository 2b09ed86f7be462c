package configs

import (
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// Restart says how often a member whose agent fails is restarted.
type Restart struct {
	Max    int           // restarts in Within; 0 means none
	Within time.Duration // never 0 in a resolved spec
	// Given says that the spec sets this for the member or under defaults. Then failed turns count, too.
	Given bool
}

// restartSpec says how often a member is restarted.
type restartSpec struct {
	at     *yaml.Node
	max    yaml.Value[int64]
	within yaml.Value[time.Duration]
}

// fields returns the number of restarts and the time in which they count.
func (r *restartSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "max", Need: true, Part: yaml.WholeFrom(0, 1000, &r.max),
			Doc: "How often it is restarted after its agent has failed. 0: never."},
		{Key: "within", Part: yaml.SomeTime(&r.within),
			Doc: "The time in which restarts are counted; earlier ones do not count. Default: 1h."},
	}
}

// restart resolves how often a member is restarted. A max of 0 means never; without a max
// the default applies.
func (r *resolver) restart(s *restartSpec) Restart {
	out := Restart{Max: defaultRestarts, Within: s.within.Or(defaultRestartWithin), Given: s.at != nil}
	if s.max.Given() {
		out.Max = int(s.max.V)
	}
	return out
}
