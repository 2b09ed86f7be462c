package launch_test

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// BenchmarkBuiltinTurn measures a turn of the builtin agent on a model that answers at once, in a
// team that runs whole, from its begin to its end by the journal: one answer, and one with a
// call of a read-only tool before it. The bar is 1 ms. A turn has one durable commit of the store,
// for its mail; the same commit alone is measured beside it.
//
//	go test -run xxx -bench BuiltinTurn -benchtime 1000x ./orchestrator
func BenchmarkBuiltinTurn(b *testing.B) {
	for name, steps := range map[string]string{
		"answer": "steps: [{say: Done., times: -1}]\n",
		"call":   "steps:\n  - {when: \"Look around\", times: -1, call: [{tool: TaskList}]}\n  - {say: Done., times: -1}\n",
	} {
		b.Run(name, func(b *testing.B) {
			team, store := startTimed(b, map[string]string{
				"team.yaml": "covey: 1\nname: crew\nkeep: true\nmodels: {m: {provider: script, script: s.yaml}}\n" +
					"lead: {model: m}\nteammates: {m0: {model: m}}\n",
				"s.yaml": steps,
			}), commits(b)
			var turns, bare []time.Duration
			for b.Loop() {
				took, _ := team.turn(b)
				turns = append(turns, took)
				bare = append(bare, testkit.Timed(b, store))
			}
			teamtest.ReportTimes(b, "turn", turns)
			teamtest.ReportTimes(b, "commit", bare)
		})
	}
}
