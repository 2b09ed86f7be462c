package orchestrator

import (
	"errors"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/tasks"
)

// The errors of reaching a running team, and of finding it.
var (
	// ErrNotRunning is returned when no process runs the team.
	ErrNotRunning = errors.New("not running")
	// ErrOtherVersion is returned for a team that another version of covey runs, which
	// cannot be asked for that.
	ErrOtherVersion = errors.New("run by another version of covey")
	// ErrDenied is returned for a request that the caller may not make.
	ErrDenied = errors.New("denied")
	// ErrTooLarge is returned for a request that is larger than the bus carries.
	ErrTooLarge = errors.New("too large")
)

// remoteKinds are the errors that keep their identity on the way from a
// running team to a Client.
var remoteKinds = map[bus.Code]error{
	bus.CodeDenied:    ErrDenied,
	bus.CodeTooLarge:  ErrTooLarge,
	"no_member":       ErrNoMember,
	"empty":           ErrEmpty,
	"not_found":       tasks.ErrNotFound,
	"owned":           tasks.ErrOwned,
	"blocked":         tasks.ErrBlocked,
	"done":            tasks.ErrDone,
	"busy_member":     tasks.ErrBusy,
	"transition":      tasks.ErrTransition,
	"cycle":           tasks.ErrCycle,
	"dependency":      tasks.ErrDependency,
	"conflict":        tasks.ErrConflict,
	"stale":           tasks.ErrStale,
	"invalid_request": tasks.ErrInvalid,
	"mailbox_full":    tasks.ErrFull,
	"answered":        tasks.ErrAnswered,
	"not_asked":       tasks.ErrNotAsked,
	"disk":            tasks.ErrDisk,
	"spec":            configs.ErrSpec,
}

// codedError gives an error its code for the way over the bus.
func codedError(err error) error {
	var coded *bus.Error
	if errors.As(err, &coded) {
		return err
	}
	for code, kind := range remoteKinds {
		if errors.Is(err, kind) {
			return &bus.Error{Code: code, Text: err.Error()}
		}
	}
	return err
}

// remoteError is an error of a running team, as its Client returns it.
type remoteError struct {
	text string
	kind error
}

// Error is the text as the running team wrote it.
func (e *remoteError) Error() string { return e.text }

// Unwrap gives the error its kind back, so that errors.Is works across the bus.
func (e *remoteError) Unwrap() error { return e.kind }
