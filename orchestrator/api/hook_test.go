package api

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator/accounts"
)

// TestHookCounts: a hook of the list has the counts of its event and command.
func TestHookCounts(t *testing.T) {
	all := accounts.HookTally{{Event: "Stop", Command: "x", Runs: 4, Refusals: 1, FailedOpen: 2}}
	infos := []Hook{{Event: "Stop", Command: "x"}, {Event: "Stop", Command: "w"}}
	SetHookCounts(infos, &all)
	if infos[0].Runs != 4 || infos[0].FailedOpen != 2 || infos[1].Runs != 0 {
		t.Errorf("%+v", infos)
	}
	other := Hook{Event: "Stop", Command: "x"}
	if other.CountAs(infos); other.Refusals != 1 {
		t.Errorf("%+v", other)
	}
}
