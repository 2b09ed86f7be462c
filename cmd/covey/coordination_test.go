package main

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator/budget"
)

func TestCoordinationLine(t *testing.T) {
	for _, tt := range []struct {
		spent budget.Coordination
		want  string
	}{
		{budget.Coordination{Tokens: 3019, Of: 594000, Finished: 40},
			"coordination: about 3019 of the lead's 594000 tokens (0.5 %), 75 per finished task"},
		{budget.Coordination{Tokens: 10, Of: 100}, "coordination: about 10 of the lead's 100 tokens (10.0 %)"},
		{budget.Coordination{Tokens: 10}, ""}, // its agent does not tell what it uses
		{budget.Coordination{Of: 100, Finished: 3}, ""},
	} {
		if got := coordinationLine(tt.spent); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.spent, got, tt.want)
		}
	}
}
