package teammate

import (
	"fmt"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
)

// TestAnnounced: a gate is announced once, before its first hook, with what it judges; hooks of
// other events are not.
func TestAnnounced(t *testing.T) {
	task := hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "7"}}
	for _, tc := range []struct {
		name, merge string
		in          hooks.Payload
		want        string
	}{
		{"a turn end", "", hooks.StopInput{}, "[{Stop id  }]"},
		{"idleness", "", hooks.TeammateIdleInput{}, "[{TeammateIdle id  }]"},
		{"a task", "", task, "[{TaskCompleted id 7 }]"},
		{"a merge", "3", task, "[{TaskCompleted id  3}]"},
		{"a tool", "", hooks.PreToolUseInput{}, "[]"},
		{"a helper", "", hooks.SubagentStopInput{}, "[]"},
	} {
		var told []events.GateAsked
		seen := 0
		observe := Announced(tc.in, tc.merge, func(g events.GateAsked) {
			if seen > 0 {
				t.Errorf("%s: announced after a hook", tc.name)
			}
			told = append(told, g)
		}, func(hooks.Progress) { seen++ })
		for range 3 {
			observe(hooks.Progress{Event: tc.in.Event(), ToolUseID: "id", Command: "./gate"})
		}
		if got := fmt.Sprint(told); got != tc.want || seen != 3 {
			t.Errorf("%s: announced %s, want %s; %d hooks", tc.name, got, tc.want, seen)
		}
	}
	observe := Announced(hooks.StopInput{}, "", func(events.GateAsked) { t.Error("a hook in the background is no gate") }, func(hooks.Progress) {})
	observe(hooks.Progress{Event: hooks.Stop, ToolUseID: "id", Background: &hooks.Background{}})
}
