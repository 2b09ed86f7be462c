package crew_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/agent"
)

// quickClock makes the watchdog's rounds follow each other quickly, save that there is none
// between an alarm and the member's next turn, if one comes; all other waits are as long as
// they are.
func quickClock(log **testkit.Log[events.Line]) members.Clock {
	return members.Clock{TimeNow: time.Now, TimeAfter: func(d time.Duration) <-chan time.Time {
		if d != members.WatchInterval {
			return time.After(d)
		}
		ring := make(chan time.Time, 1)
		go func() {
			_ = (*log).Until(context.Background(), func(lines []events.Line) bool {
				return count(lines, "watchdog") < count(lines, "turn_started")
			})
			ring <- <-time.After(5 * time.Millisecond)
		}()
		return ring
	}}
}

// count counts the lines of dev of one type that hold all of words.
func count(lines []events.Line, typ string, words ...string) int {
	n := 0
	for _, l := range lines {
		if l.Member == "dev" && l.Type == typ && !slices.ContainsFunc(words, func(w string) bool {
			return !strings.Contains(string(l.Data), w)
		}) {
			n++
		}
	}
	return n
}

// silentAtFirst is an agent of whose first turns nothing is heard; the one after
// them completes task 1.
func silentAtFirst(turns int32) orchestrator.AgentMaker {
	left := &atomic.Int32{}
	left.Store(turns)
	return teamtest.MakerOf(func(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
		if left.Add(-1) >= 0 {
			<-ctx.Done()
			return agent.Reply{}, ctx.Err()
		}
		r := h.Call(ctx, agent.ToolCall{
			ID: "call_1", Name: "TaskUpdate", Input: []byte(`{"taskId":"1","status":"completed"}`),
		})
		return agent.Reply{Text: r.Content}, nil
	})
}

// TestWatchdogRousesAMember: a turn of which nothing is heard is ended, and the
// member begins again; if that turn is silent too, somebody has to look.
func TestWatchdogRousesAMember(t *testing.T) {
	for name, tt := range map[string]struct {
		silent int32
		did    string
		code   int
	}{
		"once": {1, "interrupted", orchestrator.CodeDone}, "twice": {2, "interrupted given up", orchestrator.CodeUnfinished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := teamtest.GivenSpec + "tasks: [{subject: Look around, owner: dev}]\n"
			var log *testkit.Log[events.Line]
			o, log, err := teamtest.NewGiven(t, t.TempDir(), spec, orchestrator.Options{
				Agents:    map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet), "dev": silentAtFirst(tt.silent)},
				Overrides: orchestrator.Overrides{Clock: quickClock(&log)},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
			defer cancel()
			ending, err := o.Run(ctx)
			if err != nil || ending.Code != tt.code {
				t.Fatalf("%+v, %v:\n%s", ending, err, teamtest.Show(log.All()))
			}
			r := &teamtest.Rig{T: t, Lines: log}
			var did []string
			for _, w := range teamtest.Of[events.WatchdogFound](r, "watchdog") {
				did = append(did, w.Did)
			}
			if got := strings.Join(did, " "); got != tt.did {
				t.Errorf("the watchdog %s, want %s:\n%s", got, tt.did, teamtest.Show(log.All()))
			}
		})
	}
}
