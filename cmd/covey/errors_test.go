package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
)

// TestExitCode holds every kind of error to the code that DESIGN 6 gives it.
func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"none", nil, 0},
		{"any other", errors.New("refused"), 1},
		{"runs already", fmt.Errorf("team: %w", orchestrator.ErrRunning), 1},
		{"wrapped usage", fmt.Errorf("x: %w", usagef("no such flag")), 2},
		{"mistakes in a spec", &specError{configs.Errors{{Message: "wrong"}}}, 2},
		{"not trusted", fmt.Errorf("team.yaml is %w", errNotTrusted), 4},
		{"interrupted", fmt.Errorf("up: %w", context.Canceled), 130},
		{"a team that ended by a limit", &endError{code: 3}, 3},
		{"one in the background that did not come up", &endError{code: 4, err: errNotTrusted}, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := exitCode(tc.err); got != tc.want {
				t.Errorf("exitCode(%v) = %d, want %d", tc.err, got, tc.want)
			}
		})
	}
}

// TestErrorText: an error says who speaks and cannot drive a terminal; mistakes
// of a spec begin with their place.
func TestErrorText(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{errors.New("no room\n"), "covey: no room"},
		{errors.New("bad \x1b[31mname"), `covey: bad \x1b[31mname`},
		{specTrouble("t.yaml", configs.Errors{{File: "t.yaml", Line: 2, Col: 7, Message: "what, and instead"}}),
			"t.yaml:2:7: what, and instead"},
		{&endError{code: 1, err: errors.New("the team did not come up")}, "covey: the team did not come up"},
	} {
		if got := errorText(tc.err); got != tc.want {
			t.Errorf("errorText(%q) = %q, want %q", tc.err, got, tc.want)
		}
	}
}

// TestWasSaid: only an ending that was reported leaves nothing to print.
func TestWasSaid(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, true}, {&endError{code: 1}, true}, {&endError{code: 1, err: errRefused}, false}, {errRefused, false},
	} {
		if got := wasSaid(tc.err); got != tc.want {
			t.Errorf("wasSaid(%v) = %t", tc.err, got)
		}
	}
}

// TestErrorsUnwrap: what an error is made of can be asked for.
func TestErrorsUnwrap(t *testing.T) {
	cause := configs.Errors{{Message: "wrong"}}
	var found configs.Errors
	if err := error(&specError{cause}); !errors.As(err, &found) || !errors.Is(err, errUsage) {
		t.Error("a specError hides its cause")
	}
	if err := error(&endError{code: 4, err: errNotTrusted}); !errors.Is(err, errNotTrusted) {
		t.Error("an endError hides its cause")
	}
	if got := (&endError{code: 3}).Error(); got != "ended with code 3" {
		t.Errorf("an endError without a cause says %q", got)
	}
}
