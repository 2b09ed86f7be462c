package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// The exit codes of DESIGN 6.
const (
	ExitDone        = 0
	ExitFailed      = 1 // the team ended without finishing; for other commands: refused or failed
	ExitUsage       = 2 // wrong usage, or a spec with mistakes
	ExitNotTrusted  = 4
	ExitInterrupted = 130
)

// ErrUsage marks an error of whoever typed the command: a flag, an argument, a
// spec. It leads to exit code 2.
var ErrUsage = errors.New("usage")

// ErrNotTrusted is returned when the workspace brings something to run that
// nobody has agreed to. It leads to exit code 4.
var ErrNotTrusted = errors.New("not trusted")

// EndError carries the exit code of a team that has ended, or that has told
// itself all there was to tell. err is what is left to print; nil: nothing. A
// team that ended without finishing has told why in its report; saying it again
// on stderr would only bury the report.
type EndError struct {
	Code int
	Err  error
}

// Error is for logs and tests; what a person sees of an EndError is decided by
// WasSaid.
func (e *EndError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("ended with code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap lets ErrorText find a specError below. The code is endError's own,
// whatever is inside.
func (e *EndError) Unwrap() error { return e.Err }

// usageError is an error of usage with the text that a person reads.
type usageError struct{ text string }

// Error is the text alone: "usage" before it would tell a person nothing.
func (e *usageError) Error() string { return e.text }

// Is makes every usageError an ErrUsage.
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// Usagef makes a usageError. The text names the way out, as all errors of usage
// do; it is plain only once ErrorText has made it so.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// ExitCode is the one place that turns an error into an exit code. What it does
// not know has failed: a new kind of error must not look like success. The
// order matters: an EndError carries a code of the team's own, even if an
// interrupt is below it.
func ExitCode(err error) int {
	var end *EndError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &end):
		return end.Code
	case errors.Is(err, ErrUsage):
		return ExitUsage
	case errors.Is(err, ErrNotTrusted):
		return ExitNotTrusted
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	default:
		return ExitFailed
	}
}

// ErrorText is what stderr shows of err. Mistakes in a spec stand for
// themselves, so that editors find file:line:col at the start of a line; all
// else says who speaks.
func ErrorText(err error) string {
	text := strings.TrimRight(term.Plain(err.Error()), "\n")
	var spec *specError
	if errors.As(err, &spec) {
		return text
	}
	return "covey: " + text
}

// specError is a spec with mistakes: err's text lists all of them.
type specError struct{ err error }

// Error lists the mistakes, one a line, each with its place.
func (e *specError) Error() string { return e.err.Error() }

// Unwrap returns the mistakes to those who want them one by one.
func (e *specError) Unwrap() error { return e.err }

// Is makes every specError an ErrUsage.
func (e *specError) Is(target error) bool { return target == ErrUsage }

// WasSaid tells whether nothing is left to print about err.
func WasSaid(err error) bool {
	var end *EndError
	return err == nil || errors.As(err, &end) && end.Err == nil
}
