package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/texts"
)

// The exit codes, as in docs/operating.md.
const (
	ExitDone        = 0
	ExitFailed      = 1 // the team ended without finishing; for other commands: refused or failed
	ExitUsage       = 2 // wrong usage, or a spec with mistakes
	ExitNotTrusted  = 4
	ExitInterrupted = 130
)

// ErrUsage marks an error in what the operator typed: a flag, an argument, a spec.
// Its exit code is 2.
var ErrUsage = errors.New("usage")

// ErrNotTrusted: the workspace brings something to run that nobody has agreed to. The
// exit code is 4.
var ErrNotTrusted = errors.New("not trusted")

// EndError carries the exit code of a command that has printed its result, such as a
// team that has ended. Err is what is left to print; nil: nothing. A team's report
// says why it did not finish; repeating that on stderr would only bury the report.
type EndError struct {
	Code int
	Err  error
}

// Error is for logs and tests; WasSaid decides whether it is printed.
func (e *EndError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("ended with code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap lets ErrorText find a specError inside. The exit code is Code in any case.
func (e *EndError) Unwrap() error { return e.Err }

// usageError is a usage error with the text that is printed.
type usageError struct{ text string }

// Error returns the text without a prefix.
func (e *usageError) Error() string { return e.text }

// Is makes every usageError an ErrUsage.
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// Usagef returns a usageError. The text says what to do; ErrorText makes it plain.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// ExitCode turns an error into an exit code, and is the only place that does. An
// unknown error means failure, so that a new kind of error does not look like
// success. The order matters: the code of an EndError counts even if it wraps an
// interrupt.
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

// ErrorText returns what stderr shows of err. Mistakes in a spec are shown as they
// are, so that editors find file:line:col at the start of a line; other errors begin
// with "covey:".
func ErrorText(err error) string {
	text := strings.TrimRight(term.Plain(err.Error()), "\n")
	var spec *specError
	if errors.As(err, &spec) {
		return text
	}
	return "covey: " + Reword(text)
}

// goTexts matches what Go's library says in words of its own, with what to say instead. The texts
// are matched and not the values, because many errors are kept as text, or come over the socket.
var goTexts = sync.OnceValue(func() (all []rewording) {
	for _, pair := range [][2]string{
		{`strconv\.ParseBool: parsing ("(?:[^"\\]|\\.)*"): invalid syntax`, `$1 is neither true nor false`},
		{`strconv\.\w+: parsing ("(?:[^"\\]|\\.)*"): invalid syntax`, `$1 is not a number`},
		{`strconv\.\w+: parsing ("(?:[^"\\]|\\.)*"): value out of range`, `$1 is too large or too small`},
		{`time: (?:invalid duration|unknown unit .* in duration|missing unit in duration) ("(?:[^"\\]|\\.)*")`,
			`$1 is not a time such as 90s or 2h`},
		{`context deadline exceeded(?: \(Client\.Timeout exceeded[^)]*\))?|i/o timeout`, `no answer in time`},
		{`context canceled`, `interrupted`},
		{`(?:read|write|dial|accept) unix (?:@|/)?\S*: (?:(?:read|write|connect): )?`, `the connection to the team: `},
		{`use of closed network connection`, `it was closed`},
		{`unexpected EOF`, `it ends too early`},
		{`\bEOF$`, `nothing more came`},
	} {
		all = append(all, rewording{texts.Pattern(pair[0]), pair[1]})
	}
	return all
})

// rewording is a text of Go's library and its replacement.
type rewording struct {
	pattern func() *regexp.Regexp
	plain   string
}

// Reword replaces what Go's library says in an error's text by plain words.
func Reword(text string) string {
	for _, w := range goTexts() {
		text = w.pattern().ReplaceAllString(text, w.plain)
	}
	return text
}

// specError is a spec with mistakes: err's text lists all of them.
type specError struct{ err error }

// Error returns the mistakes, one a line, each with its place.
func (e *specError) Error() string { return e.err.Error() }

// Unwrap returns the single mistakes.
func (e *specError) Unwrap() error { return e.err }

// Is makes every specError an ErrUsage.
func (e *specError) Is(target error) bool { return target == ErrUsage }

// WasSaid reports whether nothing is left to print about err.
func WasSaid(err error) bool {
	var end *EndError
	return err == nil || errors.As(err, &end) && end.Err == nil
}
