package builtin

import (
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestContextUse: the provider's count of a request says how full the conversation is, if it is
// one of that request alone; an estimate says it otherwise, and nothing if the window is unknown.
func TestContextUse(t *testing.T) {
	for name, test := range map[string]struct {
		limit int64
		used  agent.Usage
		want  agent.ContextUse
	}{
		"counted":          {200, agent.Usage{InputTokens: 40, OutputTokens: 2, CacheReadTokens: 30}, agent.ContextUse{Tokens: 42, Window: 200}},
		"no known window":  {0, agent.Usage{InputTokens: 40}, agent.ContextUse{}},
		"not counted":      {200, agent.Usage{InputTokens: 40, Estimated: true}, agent.ContextUse{Tokens: 10, Window: 200}},
		"with a failure":   {200, agent.Usage{InputTokens: 80, OutputTokens: 2, FailedTokens: 40}, agent.ContextUse{Tokens: 12, Window: 200}},
		"nothing reported": {200, agent.Usage{}, agent.ContextUse{Tokens: 10, Window: 200}},
	} {
		a := &Agent{room: room{ratio: 1, limit: test.limit}, system: func() string { return "forty bytes of text, or a few more or so" }}
		if got := (&turn{Agent: a}).contextUse(test.used); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
