package accounts

import (
	"testing"

	"github.com/coveyteam/covey/events"
)

// TestHookTally: runs are counted by event and command, and the counts of members are
// joined.
func TestHookTally(t *testing.T) {
	var ana, ben, all HookTally
	ana.Add(events.HookFinished{Event: "Stop", Command: "x", Outcome: "success"})
	ana.Add(events.HookFinished{Event: "Stop", Command: "x", Outcome: "blocking", ExitCode: 2})
	ana.Add(events.HookFinished{Event: "PreToolUse", Command: "x", Outcome: "blocking", Observed: "block"})
	ben.Add(events.HookFinished{Event: "Stop", Command: "x", Outcome: "non_blocking_error", ExitCode: 127, FailedOpen: true})
	ben.Add(events.HookFinished{Event: "Stop", Command: "x", Outcome: "cancelled", ExitCode: -1, FailedOpen: true})
	ben.Add(events.HookFinished{Event: "Stop", Command: "y", Outcome: "blocking", ExitCode: -1, FailedOpen: false})
	ben.Add(events.HookFinished{Event: "Stop", Command: "z", ExitCode: -1, FailedOpen: true, Warning: "cannot\nstart"})
	ana.Add(events.HookFinished{Event: "PreToolUse", Command: "x", Outcome: "success", Observed: "pass"})
	all.Join(&ana)
	all.Join(&ben)
	for _, want := range []HookCount{
		{Event: "Stop", Command: "x", Runs: 4, Refusals: 1, FailedOpen: 2, Why: "no answer in time"},
		{Event: "PreToolUse", Command: "x", Runs: 2, Would: 1, Verdict: "refused"},
		{Event: "Stop", Command: "y", Runs: 1, Refusals: 1},
		{Event: "Stop", Command: "z", Runs: 1, FailedOpen: 1, Why: "cannot start"},
		{Event: "Stop", Command: "never"},
	} {
		if got := all.Of(want.Event, want.Command); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if n := all.FailedOpen(); n != 3 || len(all.Noteworthy()) != 3 || len(ana.Noteworthy()) != 1 || ana.FailedOpen() != 0 {
		t.Errorf("%d failed open; %+v", n, all.Noteworthy())
	}
}
