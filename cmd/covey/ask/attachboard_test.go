package ask

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/board"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestBoardIsRefused: there is no board of a team that has never run, or that another version
// runs; the error is that of every command.
func TestBoardIsRefused(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	if err := showBoard(t.Context(), nil, place, ""); !errors.Is(err, api.ErrNotRunning) {
		t.Errorf("of a team that has never run: %v", err)
	}
	teamtest.OtherVersion(t, place)
	want := "team crew: running with covey 9.0.0; covey down, then covey up"
	if err := showBoard(t.Context(), nil, place, ""); !errors.Is(err, api.ErrOtherVersion) || err.Error() != want {
		t.Errorf("of a team of another version: %v", err)
	}
	if _, err := do(t.Context(), place, board.Act{Verb: board.Hold, Member: "ana"}); !errors.Is(err, api.ErrOtherVersion) {
		t.Errorf("a key: %v", err)
	}
}

// TestActsNeedARunningTeam: whatever a key asks for, a team that does not run is not changed.
func TestActsNeedARunningTeam(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	for _, v := range []board.Verb{
		board.Approve, board.Deny, board.Send, board.Hold, board.Release, board.Interrupt, board.Merge, board.Return,
	} {
		if said, err := do(t.Context(), place, board.Act{Verb: v, Request: "r1", Member: "ana", Task: "1", Text: "x"}); !errors.Is(err, api.ErrNotRunning) {
			t.Errorf("%s: %q, %v", v, said, err)
		}
	}
	want := "there is no request r1: team crew has never run"
	if text, err := question(t.Context(), place, "r1"); err == nil || err.Error() != want {
		t.Errorf("a question of nobody: %q, %v", text, err)
	}
	if entries, err := os.ReadDir(place.Dir); err != nil ||
		strings.Contains(fmt.Sprint(entries), "tasks.db") {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestInterruptText: what an interrupt did, for the command, attach and the board.
func TestInterruptText(t *testing.T) {
	for want, r := range map[string]api.InterruptReply{
		"ana: turn 3 interrupted; it is held until covey resume ana or a text sent to it": {Interrupted: true, Held: true, Turn: 3},
		"ana: turn 3 interrupted": {Interrupted: true, Turn: 3},
		"ana is in no turn; it is held until covey resume ana or a text sent to it": {Held: true},
		"ana is in no turn; there is nothing to interrupt":                          {},
		"ana waits no longer and tries again now":                                   {Retries: true},
	} {
		if got := interruptText("ana", r); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}
