package plan

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/tasks"
)

// TestAllWait: who waits for whom is named and told to the lead, once, and only
// when nobody works and no person is waited for.
func TestAllWait(t *testing.T) {
	// ana has asked ben to approve her plan; ben can do nothing before her task 3.
	stuck := func() Scene {
		s := Scene{Seats: crewOf("ana", "ben"), Tasks: []tasks.Task{
			task("3", tasks.Pending, "ana"), task("4", tasks.Pending, "ben", "3"),
		}}
		s.Seats[1].Awaits, s.Seats[1].AwaitsFrom = "ben's approval of its plan", "ben"
		return s
	}
	const both = "members wait for each other: ana waits for ben's approval of its plan, ben waits for ana's task 3"
	for name, tt := range map[string]struct {
		edit func(*Scene)
		want string // empty: nobody is told
	}{
		"in a circle":            {func(*Scene) {}, both},
		"one does not answer":    {func(s *Scene) { s.Tasks = s.Tasks[:1] }, "nobody works: ana waits for ben's approval of its plan"},
		"in the middle of turns": {func(s *Scene) { s.Seats[1].Idle = false }, both},
		"ben works":              {func(s *Scene) { s.Seats[2].Idle = false }, ""},
		"ben has a helper":       {func(s *Scene) { s.Seats[2].Helped = true }, ""},
		"a person is asked too":  {func(s *Scene) { s.Seats[2].Awaits = "a person's answer" }, ""},
		"only a person is asked": {func(s *Scene) { s.Seats[1].AwaitsFrom = "" }, ""},
		"the lead works":         {func(s *Scene) { s.Seats[0].Idle = false }, ""},
		"the lead is in trouble": {func(s *Scene) { s.Seats[0].Attention = "x" }, ""},
		"nobody waits":           {func(s *Scene) { s.Seats[1].Awaits, s.Seats[1].AwaitsFrom = "", "" }, ""},
		"told before": {func(s *Scene) {
			s.LastImpasse = "waits: ana waits for ben's approval of its plan, ben waits for ana's task 3"
		}, ""},
	} {
		s := stuck()
		tt.edit(&s)
		m, ok := allWait(s)
		if ok != (tt.want != "") || m.Reason != tt.want {
			t.Errorf("%s: %v, %q; want %q", name, ok, m.Reason, tt.want)
		}
	}
	// The plan comes to it once ben was reminded in vain.
	s := stuck()
	s.Seats[2].Questions = "" // of none of them any more
	if moves := Next(s); len(moves) != 1 || moves[0].Kind != TellLead || moves[0].Reason != both {
		t.Errorf("the plan is %+v", moves)
	}
}

// TestImpasseNamesCircles: members that depend on each other's work are named,
// where tasks alone can never wait for themselves.
func TestImpasseNamesCircles(t *testing.T) {
	s := Scene{Seats: crewOf("ana", "ben"), Tasks: []tasks.Task{
		task("1", tasks.Pending, "ana"), task("2", tasks.Pending, "ben", "1"),
	}}
	s.Seats[1].HeldBy = "ben"
	want := "they wait for each other: ana waits for ben's open work, which it depends on, ben waits for ana's task 1"
	if got := impasse(s, s.Tasks); !strings.HasSuffix(got, want) {
		t.Errorf("the impasse is %q", got)
	}
	s.Seats[1].HeldBy = ""
	if got := impasse(s, s.Tasks); strings.Contains(got, "each other") {
		t.Errorf("the impasse is %q", got)
	}
}

// TestCycleOf: what is found is a circle, and there is none where none is found.
func TestCycleOf(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(rt *rapid.T) {
		var waits []wait
		for range rapid.IntRange(0, 8).Draw(rt, "waits") {
			waits = append(waits, wait{
				Who: rapid.SampledFrom(names).Draw(rt, "who"), For: rapid.SampledFrom(names).Draw(rt, "for"),
			})
		}
		round := cycleOf(waits)
		for i, w := range round {
			if next := round[(i+1)%len(round)]; w.For != next.Who || !slices.Contains(waits, w) {
				rt.Fatalf("%v is no circle in %v", round, waits)
			}
		}
		// Whoever waits for nobody, or only for such, is taken away until none is left.
		left := slices.Clone(waits)
		for shrunk := true; shrunk; {
			n := len(left)
			left = slices.DeleteFunc(left, func(w wait) bool {
				return !slices.ContainsFunc(left, func(o wait) bool { return o.Who == w.For })
			})
			shrunk = len(left) < n
		}
		if (len(left) > 0) != (round != nil) {
			rt.Fatalf("found %v in %v, where %v is left", round, waits, left)
		}
	})
}
