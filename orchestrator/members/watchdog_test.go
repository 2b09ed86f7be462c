package members

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMemberWatch: each case is a member over rounds of half a minute, with the findings by
// round.
func TestMemberWatch(t *testing.T) {
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
		"silent for ever": {thinking, []found{{61, TurnInterrupted}, {65, LifeEnded}, {69, LifeEnded}}},
		"the turn ends when it is interrupted": {
			with(func(i int, p *pulse) { p.InTurn = i <= 61 }), []found{{61, TurnInterrupted}}},
		"the next turn is silent too": {
			with(func(i int, p *pulse) {
				if i > 61 {
					p.Turn, p.Beats = 4, 9
				}
			}), []found{{61, TurnInterrupted}, {122, MemberGivenUp}, {126, LifeEnded}}},
		"it works":           {with(func(i int, p *pulse) { p.Beats = uint64(i / 50) }), nil},
		"it rests":           {with(func(_ int, p *pulse) { p.InTurn = false }), nil},
		"it waits":           {with(func(_ int, p *pulse) { p.Waits = true }), nil},
		"a tool runs":        {with(func(_ int, p *pulse) { p.Busy = true }), nil},
		"its program thinks": {with(func(_ int, p *pulse) { p.Silent = false }), nil},
		"a limit of its own": {
			with(func(_ int, p *pulse) { p.Limit = 3 * time.Minute }), []found{{11, TurnInterrupted}, {15,
				LifeEnded}, {19, LifeEnded}}},
		"kept from its mail": {
			with(func(i int, p *pulse) {
				p.InTurn, p.Mail = false, "m1"
				if i > 6 {
					p.Mail = ""
				}
			}), []found{{5, LookedAgain}}},
		"new mail all the time": {
			with(func(i int, p *pulse) { p.InTurn, p.Mail = false, strings.Repeat("m", 1+i%2) }), nil},
	}
	for name, tt := range tests {
		v := &memberWatch{}
		var got []found
		for i := 1; i <= 126; i++ {
			if f, ok := v.check(tt.pulse(i), WatchInterval); ok {
				got = append(got, found{i, f.Did})
			}
		}
		if got = got[:min(len(got), 3)]; !slices.Equal(got, tt.want) {
			t.Errorf("%s: found %v, want %v", name, got, tt.want)
		}
	}
}
