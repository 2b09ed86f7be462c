package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The exit codes of DESIGN 6.
const (
	exitDone        = 0
	exitFailed      = 1 // the team ended without finishing; for other commands: refused or failed
	exitUsage       = 2 // wrong usage, or a spec with mistakes
	exitNotTrusted  = 4
	exitInterrupted = 130
)

// errUsage marks an error of whoever typed the command: a flag, an argument, a
// spec. It leads to exit code 2.
var errUsage = errors.New("usage")

// errNotTrusted is returned when the workspace brings something to run that
// nobody has agreed to. It leads to exit code 4.
var errNotTrusted = errors.New("not trusted")

// endError carries the exit code of a team that has ended, or that has told
// itself all there was to tell. err is what is left to print; nil: nothing. A
// team that ended without finishing has told why in its report; saying it again
// on stderr would only bury the report.
type endError struct {
	code int
	err  error
}

// Error is for logs and tests; what a person sees of an endError is decided by
// wasSaid.
func (e *endError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("ended with code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap lets errorText find a specError below. The code is endError's own,
// whatever is inside.
func (e *endError) Unwrap() error { return e.err }

// usageError is an error of usage with the text that a person reads.
type usageError struct{ text string }

// Error is the text alone: "usage" before it would tell a person nothing.
func (e *usageError) Error() string { return e.text }

// Is makes every usageError an errUsage.
func (e *usageError) Is(target error) bool { return target == errUsage }

// usagef makes a usageError. The text names the way out, as all errors of usage
// do; it is plain only once errorText has made it so.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// exitCode is the one place that turns an error into an exit code. What it does
// not know has failed: a new kind of error must not look like success. The
// order matters: an endError carries a code of the team's own, even if an
// interrupt is below it.
func exitCode(err error) int {
	var end *endError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &end):
		return end.code
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errNotTrusted):
		return exitNotTrusted
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	default:
		return exitFailed
	}
}

// errorText is what stderr shows of err. Mistakes in a spec stand for
// themselves, so that editors find file:line:col at the start of a line; all
// else says who speaks.
func errorText(err error) string {
	text := strings.TrimRight(plain(err.Error()), "\n")
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

// Unwrap gives the mistakes to those who want them one by one.
func (e *specError) Unwrap() error { return e.err }

// Is makes every specError an errUsage.
func (e *specError) Is(target error) bool { return target == errUsage }
