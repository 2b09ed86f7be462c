package orchestrator

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/clock"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestVigil: each case is a member over rounds of half a minute, and what is
// found in which round.
func TestVigil(t *testing.T) {
	thinking := func(i int) pulse { return pulse{Beats: 7, InTurn: true, Turn: 3, Silent: true} }
	with := func(edit func(int, *pulse)) func(int) pulse {
		return func(i int) pulse {
			p := thinking(i)
			edit(i, &p)
			return p
		}
	}
	type found struct {
		round int
		did   string
	}
	tests := map[string]struct {
		pulse func(round int) pulse
		want  []found
	}{
		"silent for ever": {thinking, []found{{61, didInterrupt}, {65, didEnd}, {69, didEnd}}},
		"the turn ends when it is interrupted": {
			with(func(i int, p *pulse) { p.InTurn = i <= 61 }), []found{{61, didInterrupt}}},
		"the next turn is silent too": {
			with(func(i int, p *pulse) {
				if i > 61 {
					p.Turn, p.Beats = 4, 9
				}
			}), []found{{61, didInterrupt}, {122, didGiveUp}, {126, didEnd}}},
		"it works":           {with(func(i int, p *pulse) { p.Beats = uint64(i / 50) }), nil},
		"it rests":           {with(func(_ int, p *pulse) { p.InTurn = false }), nil},
		"it waits":           {with(func(_ int, p *pulse) { p.Waits = true }), nil},
		"a tool runs":        {with(func(_ int, p *pulse) { p.Busy = true }), nil},
		"its program thinks": {with(func(_ int, p *pulse) { p.Silent = false }), nil},
		"a limit of its own": {
			with(func(_ int, p *pulse) { p.Limit = 3 * time.Minute }), []found{{11, didInterrupt}, {15,
				didEnd}, {19, didEnd}}},
		"kept from its mail": {
			with(func(i int, p *pulse) {
				p.InTurn, p.Mail = false, "m1"
				if i > 6 {
					p.Mail = ""
				}
			}), []found{{5, didLook}}},
		"new mail all the time": {
			with(func(i int, p *pulse) { p.InTurn, p.Mail = false, strings.Repeat("m", 1+i%2) }), nil},
	}
	for name, tt := range tests {
		v := &vigil{}
		var got []found
		for i := 1; i <= 126; i++ {
			if f, ok := v.look(tt.pulse(i), watchEvery); ok {
				got = append(got, found{i, f.Did})
			}
		}
		if got = got[:min(len(got), 3)]; !slices.Equal(got, tt.want) {
			t.Errorf("%s: found %v, want %v", name, got, tt.want)
		}
	}
}

// quickClock makes the watchdog's rounds follow each other quickly, save that a
// turn that was interrupted gets the time to end; all other waits are as long as
// they are.
func quickClock(log *lineLog) clock.Clock {
	return clock.Clock{TimeNow: time.Now, TimeAfter: func(d time.Duration) <-chan time.Time {
		if d != watchEvery {
			return time.After(d)
		}
		ring := make(chan time.Time, 1)
		go func() {
			for {
				log.mu.Lock()
				begun, ended, more := count(log.lines, "watchdog"), count(log.lines, "idle",
					`"interrupted"`), log.more
				log.mu.Unlock()
				if begun <= ended {
					break
				}
				<-more
			}
			ring <- <-time.After(5 * time.Millisecond)
		}()
		return ring
	}}
}

// count counts the lines of dev of one type that hold all of words.
func count(lines []journal.Line, typ string, words ...string) int {
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
func silentAtFirst(turns int32) AgentMaker {
	left := &atomic.Int32{}
	left.Store(turns)
	return made(func(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
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
		"once": {1, "interrupted", CodeDone}, "twice": {2, "interrupted given up", CodeUnfinished},
	} {
		t.Run(name, func(t *testing.T) {
			stateHome(t)
			spec := givenSpec + "tasks: [{subject: Look around, owner: dev}]\n"
			o, log, err := given(t, t.TempDir(), spec, Options{Agents: map[string]AgentMaker{
				"boss": made(quiet), "dev": silentAtFirst(tt.silent),
			}})
			if err != nil {
				t.Fatal(err)
			}
			o.clock = quickClock(log)
			ctx, cancel := context.WithTimeout(t.Context(), testPatience)
			defer cancel()
			ending, err := o.Run(ctx)
			if err != nil || ending.Code != tt.code {
				t.Fatalf("%+v, %v:\n%s", ending, err, show(log.all()))
			}
			r := &rig{t: t, lines: log}
			var did []string
			for _, w := range of[Watchdog](r, "watchdog") {
				did = append(did, w.Did)
			}
			if got := strings.Join(did, " "); got != tt.did {
				t.Errorf("the watchdog %s, want %s:\n%s", got, tt.did, show(log.all()))
			}
		})
	}
}
