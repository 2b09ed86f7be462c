package configs

import (
	"time"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// Restart says how often a member whose agent fails is started again.
type Restart struct {
	Max    int           // starts in Within; 0: none
	Within time.Duration // never 0 in a resolved spec
	// Given: the spec says so for the member, or under defaults. Then turns that fail count, too.
	Given bool
}

// restartSpec says how often a member is started again.
type restartSpec struct {
	at     *yaml.Node
	max    schema.Value[int64]
	within schema.Value[time.Duration]
}

// fields are how often, and in what time.
func (r *restartSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "max", Need: true, Part: schema.WholeFrom(0, 1000, &r.max),
			Doc: "How often it is started again after its agent has failed. 0: never."},
		{Key: "within", Part: schema.Span(&r.within),
			Doc: "The time in which so many starts may be; what lies further back does not count. Default: 1h."},
	}
}

// restart resolves how often a member is started again.
//
// A max of 0 is given on purpose and means never; only a max that is not there at all is
// the default. within is put right after a message, so that no second one follows from it.
func (r *resolver) restart(s *restartSpec) Restart {
	out := Restart{Max: defaultRestarts, Within: s.within.Or(defaultRestartWithin), Given: s.at != nil}
	if s.max.Given() {
		out.Max = int(s.max.V)
	}
	if s.within.Given() && s.within.V == 0 && !r.Said(s.within.At.At) {
		r.Fail(s.within.At.At, "within must be more than 0; write a time such as 1h")
		out.Within = defaultRestartWithin
	}
	return out
}
