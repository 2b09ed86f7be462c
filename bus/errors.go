package bus

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by every call on a Bus that was closed, or whose
// connection to the team is gone.
var ErrClosed = errors.New("the bus is closed")

// ErrSubject is returned when a name cannot be part of a subject.
var ErrSubject = errors.New("not a name that a subject can hold")

// ErrSocketInUse is returned by Listen when somebody answers at the path.
var ErrSocketInUse = errors.New("another process listens there")

// ErrSocketDir is returned by Listen and Dial when the socket's folder is not
// private to this user, so that somebody else could have put a socket there.
var ErrSocketDir = errors.New("the socket's folder is not private to this user")

// ErrRefused is returned by Dial when the team does not let this caller in.
var ErrRefused = errors.New("the team refused the connection")

// ErrForeign is returned by Dial when what listens there does not begin as a Bus does: it
// is another version, or something else.
var ErrForeign = errors.New("it speaks another language")

// ErrMalformed is returned when bytes from the bus are not an envelope.
var ErrMalformed = errors.New("malformed message")

// Code says what kind of trouble an Error is, for programs to act on.
type Code string

// The codes of answers that the bus itself gives. Handlers may use others.
const (
	CodeInternal Code = "internal"  // the handler failed without giving a code
	CodeInvalid  Code = "invalid"   // the request could not be read
	CodeTooLarge Code = "too_large" // the request or its answer is over the size limit
	CodeBusy     Code = "busy"      // the caller has too many requests open
	CodeDenied   Code = "denied"    // the caller may not do that
	CodeUnknown  Code = "unknown"   // nobody answers such requests
)

// Error is a failure that crosses the bus: a handler that returns one (wrapped
// or not) has its code and text sent to the caller, whose Request returns it.
// Any other error of a handler arrives with CodeInternal and its text.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string { return e.Text }

// Errorf makes an Error with a code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// CodeOf is the code of the Error in err's chain; CodeInternal if there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// DropError tells that a subscriber was too slow: its queue was full, and
// messages for it were dropped.
type DropError struct {
	Subject Subject // what the subscription listens to
	Dropped int     // messages dropped on it so far
}

// Error says how many were lost, since nobody else will ever know.
func (e *DropError) Error() string {
	return fmt.Sprintf("subscriber of %s is too slow: %d messages dropped", e.Subject, e.Dropped)
}

// PanicError tells that a callback panicked. The bus goes on without it.
type PanicError struct {
	Subject Subject
	Value   string // what was passed to panic, printed
	Stack   string
}

// Error leaves out the stack: it is for the log, and not for who asked.
func (e *PanicError) Error() string {
	return fmt.Sprintf("callback for %s panicked: %s", e.Subject, e.Value)
}

// SizeError tells that a message is larger than the bus carries.
type SizeError struct {
	Size, Limit int // bytes, envelope included
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("message of %d bytes is over the limit of %d", e.Size, e.Limit)
}
