package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/state"
)

// TestExitCode holds every kind of error to the code that docs/operating.md gives it.
func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"none", nil, 0},
		{"any other", errors.New("refused"), 1},
		{"runs already", fmt.Errorf("team: %w", state.ErrRunning), 1},
		{"wrapped usage", fmt.Errorf("x: %w", Usagef("no such flag")), 2},
		{"mistakes in a spec", &specError{configs.Errors{{Message: "wrong"}}}, 2},
		{"not trusted", fmt.Errorf("team.yaml is %w", ErrNotTrusted), 4},
		{"interrupted", fmt.Errorf("up: %w", context.Canceled), 130},
		{"a team that ended by a limit", &EndError{Code: 3}, 3},
		{"one in the background that did not come up", &EndError{Code: 4, Err: ErrNotTrusted}, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ExitCode(tc.err); got != tc.want {
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
		{SpecTrouble("t.yaml", configs.Errors{{File: "t.yaml", Line: 2, Col: 7, Message: "what, and instead"}}),
			"t.yaml:2:7: what, and instead"},
		{&EndError{Code: 1, Err: errors.New("the team did not come up")}, "covey: the team did not come up"},
	} {
		if got := ErrorText(tc.err); got != tc.want {
			t.Errorf("errorText(%q) = %q, want %q", tc.err, got, tc.want)
		}
	}
}

// TestReword: texts of Go's library are replaced wherever they stand.
func TestReword(t *testing.T) {
	_, number := strconv.ParseInt("x", 10, 64)
	_, large := strconv.ParseInt("99999999999999999999", 10, 64)
	_, truth := strconv.ParseBool("maybe")
	_, duration := time.ParseDuration("soon")
	lost := &net.OpError{Op: "read", Net: "unix", Addr: &net.UnixAddr{Name: "@", Net: "unix"},
		Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("-n: %w", number), `-n: "x" is not a number`},
		{large, `"99999999999999999999" is too large or too small`},
		{truth, `"maybe" is neither true nor false`},
		{duration, `"soon" is not a time such as 90s or 2h`},
		{fmt.Errorf("tasks: %w", context.DeadlineExceeded), "tasks: no answer in time"},
		{errors.New("members: context canceled"), "members: interrupted"},
		{lost, "the connection to the team: connection reset by peer"},
		{fmt.Errorf("answer: %w", io.EOF), "answer: nothing more came"},
		{errors.New("file README.EOF.md"), "file README.EOF.md"},
	} {
		if got := ErrorText(tc.err); got != "covey: "+tc.want {
			t.Errorf("ErrorText(%q) = %q, want %q", tc.err, got, tc.want)
		}
	}
}

// TestWasSaid: only an ending that was reported leaves nothing to print.
func TestWasSaid(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, true}, {&EndError{Code: 1}, true}, {&EndError{Code: 1, Err: errors.New("refused")},
			false}, {errors.New("refused"), false},
	} {
		if got := WasSaid(tc.err); got != tc.want {
			t.Errorf("wasSaid(%v) = %t", tc.err, got)
		}
	}
}

// TestErrorsUnwrap: what an error is made of can be asked for.
func TestErrorsUnwrap(t *testing.T) {
	cause := configs.Errors{{Message: "wrong"}}
	var found configs.Errors
	if err := error(&specError{cause}); !errors.As(err, &found) || !errors.Is(err, ErrUsage) {
		t.Error("a specError hides its cause")
	}
	if err := error(&EndError{Code: 4, Err: ErrNotTrusted}); !errors.Is(err, ErrNotTrusted) {
		t.Error("an endError hides its cause")
	}
	if got := (&EndError{Code: 3}).Error(); got != "ended with code 3" {
		t.Errorf("an endError without a cause says %q", got)
	}
}
