//go:build unix

package ask

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestDownGivesUp: whoever interrupts `covey down` is not told that the time is up, nor to kill
// the team.
func TestDownGivesUp(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{context.DeadlineExceeded, "crew is still ending after 15s; as a last resort: kill -9 7"},
		{context.Canceled, "crew (process 7) was told to end, and may still be ending: context canceled"},
		{fs.ErrPermission, "crew (process 7) was told to end, and may still be ending: permission denied"},
	} {
		err := notEnded(place, 7, tc.err)
		if got := errorText(err); got != tc.want || !errors.Is(err, tc.err) && tc.err != context.DeadlineExceeded {
			t.Errorf("%v is %q, want %q", tc.err, got, tc.want)
		}
	}

	lock, err := state.LockTeam(place)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = dialWhenReady(ended, place)
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "15s") {
		t.Errorf("an interrupt of the wait for a start: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
