package runner

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// stopsOf runs a Stop (or a helper's stop) and tells which functions ran.
func stopsOf(t *testing.T, r *Runner, in hooks.Input) string {
	t.Helper()
	out, err := r.Run(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, result := range out.Results {
		names = append(names, result.Type+" "+result.Command)
	}
	return strings.Join(names, ", ")
}

func TestFunctionHooks(t *testing.T) {
	var registry hooks.Registry
	r, err := New(nil, &Options{Callbacks: &registry})
	if err != nil {
		t.Fatal(err)
	}
	no := func(context.Context, hooks.Input) (hooks.Answer, error) {
		return hooks.Answer{Decision: hooks.Block, Reason: "tests first"}, nil
	}
	member, helper := registry.Session("s1"), registry.Session("h1")
	remove, err := member.AtStop("check", no)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := helper.AtStop("inner", no); err != nil {
		t.Fatal(err)
	}
	stop := hooks.Input{Common: hooks.Common{SessionID: "s1", AgentID: "dev@crew"}, Payload: hooks.StopInput{}}
	inner := hooks.Input{Common: hooks.Common{SessionID: "s1", AgentID: "h1"}, Payload: hooks.RawPayload{Name: hooks.SubagentStop}}
	for _, tc := range []struct {
		in   hooks.Input
		want string
	}{
		{stop, "function function check"},
		{inner, "function function inner"},
		{hooks.Input{Common: hooks.Common{SessionID: "s2"}, Payload: hooks.StopInput{}}, ""},
		{hooks.Input{Common: hooks.Common{SessionID: "s1"}, Payload: hooks.TeammateIdleInput{}}, ""},
		{hooks.Input{Common: hooks.Common{SessionID: "s1", AgentID: "h2"}, Payload: hooks.RawPayload{Name: hooks.SubagentStop}}, ""},
	} {
		if got := stopsOf(t, r, tc.in); got != tc.want {
			t.Errorf("%+v runs %q, want %q", tc.in, got, tc.want)
		}
	}
	out, err := r.Run(t.Context(), stop, nil)
	if err != nil || out.Decision != hooks.Block || out.Feedback[0] != "Stop hook feedback:\ntests first" {
		t.Errorf("%+v, %v", out, err)
	}
	remove()
	remove()
	if got := stopsOf(t, r, stop); got != "" {
		t.Errorf("removed, and ran: %s", got)
	}
	helper.Release()
	helper.Release()
	if got := stopsOf(t, r, inner); got != "" {
		t.Errorf("released, and ran: %s", got)
	}
	if _, err := helper.AtStop("late", no); !errors.Is(err, hooks.ErrCallback) || !strings.Contains(err.Error(), "over") {
		t.Errorf("registered after its end: %v", err)
	}
	if _, err := member.AtStop("none", nil); !errors.Is(err, hooks.ErrCallback) {
		t.Errorf("no function: %v", err)
	}
	// The id of one that has ended may come again: nothing is left over.
	if _, err := registry.Session("h1").AtStop("", no); err != nil || !strings.Contains(stopsOf(t, r, inner), "function runner.") {
		t.Errorf("a new conversation: %v", err)
	}
}

// TestReleaseWhileOthersRun: registering, running and releasing at once.
func TestReleaseWhileOthersRun(t *testing.T) {
	var registry hooks.Registry
	r, err := New(nil, &Options{Callbacks: &registry})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				s := registry.Session("s")
				_, err := s.AtStop("f", func(context.Context, hooks.Input) (hooks.Answer, error) { return hooks.Answer{}, nil })
				if err != nil && !errors.Is(err, hooks.ErrCallback) {
					t.Error(err)
				}
				if _, err := r.Run(context.Background(), hooks.Input{Common: hooks.Common{SessionID: "s"}, Payload: hooks.StopInput{}}, nil); err != nil {
					t.Error(err)
				}
				s.Release()
			}
		})
	}
	all.Wait()
	if list := registry.FunctionsFor(hooks.Input{Common: hooks.Common{SessionID: "s"}, Payload: hooks.StopInput{}}); len(list) != 0 {
		t.Errorf("%d functions are left", len(list))
	}
	if err := registry.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
