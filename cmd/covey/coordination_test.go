package main

import (
	"testing"

	"github.com/coveyteam/covey/events"
)

func TestCoordinationLine(t *testing.T) {
	for _, tt := range []struct {
		spent events.Coordination
		want  string
	}{
		{events.Coordination{Tokens: 3019, Of: 594000, Finished: 40},
			"coordination: about 3019 of the lead's 594000 tokens (0.5 %), 75 per finished task"},
		{events.Coordination{Tokens: 10, Of: 100}, "coordination: about 10 of the lead's 100 tokens (10.0 %)"},
		{events.Coordination{Tokens: 10}, ""}, // its agent does not tell what it uses
		{events.Coordination{Of: 100, Finished: 3}, ""},
	} {
		if got := coordinationLine(tt.spent); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.spent, got, tt.want)
		}
	}
}
