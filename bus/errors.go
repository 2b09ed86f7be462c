package bus

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by every call on a Bus that was closed, or whose
// connection to the team is gone.
var ErrClosed = errors.New("the bus is closed")

// ErrSubject is returned for a name that cannot be part of a subject.
var ErrSubject = errors.New("not a name that a subject can hold")

// ErrSocketInUse is returned by Listen when another process answers at the path.
var ErrSocketInUse = errors.New("another process listens there")

// ErrSocketDir is returned by Listen and Dial when the socket's folder is not private to
// this user, so that another user could have put a socket there.
var ErrSocketDir = errors.New("the socket's folder is not private to this user")

// ErrRefused is returned by Dial when the team rejects this caller.
var ErrRefused = errors.New("the team refused the connection")

// ErrHungUp is returned by Dial when the listener closed the connection before it said
// anything, as the kernel does for a process that is being killed.
var ErrHungUp = errors.New("the team hung up")

// ErrForeign is returned by Dial when the listener does not speak the bus's protocol: it
// is another version, or another program.
var ErrForeign = errors.New("it speaks another protocol")

// ErrMalformed is returned for bytes that are not an envelope.
var ErrMalformed = errors.New("malformed message")

// Code is the kind of an Error, for programs.
type Code string

// The codes that the bus itself uses. Handlers may use others.
const (
	CodeInternal Code = "internal"  // the handler failed without giving a code
	CodeInvalid  Code = "invalid"   // the request could not be read
	CodeTooLarge Code = "too_large" // the request or its answer is over the size limit
	CodeBusy     Code = "busy"      // the caller has too many requests open
	CodeDenied   Code = "denied"    // the caller may not do that
	CodeUnknown  Code = "unknown"   // no handler for such requests
)

// Error is a failure that crosses the bus: if a handler returns one, also wrapped, its
// code and text are sent to the caller, whose Request returns it. Any other error arrives
// with CodeInternal and its text.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string { return e.Text }

// Errorf makes an Error with a code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the Error in err's chain; CodeInternal if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// DropError reports that a subscriber was too slow: its queue was full, and messages for
// it were dropped.
type DropError struct {
	Subject Subject // the subject of the subscription
	Dropped int     // messages dropped so far
}

// Error includes the number of dropped messages.
func (e *DropError) Error() string {
	return fmt.Sprintf("subscriber of %s is too slow: %d messages dropped", e.Subject, e.Dropped)
}

// PanicError reports that a callback panicked. The bus continues.
type PanicError struct {
	Subject Subject
	Value   string // the panic value, formatted
	Stack   string
}

// Error leaves out the stack, which is for the log and not for the caller.
func (e *PanicError) Error() string {
	return fmt.Sprintf("callback for %s panicked: %s", e.Subject, e.Value)
}

// SizeError reports that a message is larger than the bus carries.
type SizeError struct {
	Size, Limit int // bytes, envelope included
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("message of %d bytes is over the limit of %d", e.Size, e.Limit)
}
