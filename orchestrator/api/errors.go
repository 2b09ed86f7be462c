package api

import (
	"errors"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
)

// The errors that keep their identity on the way from a running team to a Client, besides
// those of packages tasks and configs.
var (
	// ErrNoMember is returned when a task, message or command names somebody
	// who is not in the team.
	ErrNoMember = errors.New("no such member")
	// ErrEmpty is returned for a message or task without content.
	ErrEmpty = errors.New("empty")
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

// remoteKind is a kind of error that keeps its identity on the way from a running team to a
// Client, and its code on the wire.
type remoteKind struct {
	code bus.Code
	kind error
}

// remoteKinds are all of them. An error that is of two kinds has the code of the first.
func remoteKinds() []remoteKind {
	return []remoteKind{
		{bus.CodeDenied, ErrDenied},
		{bus.CodeTooLarge, ErrTooLarge},
		{"no_member", ErrNoMember},
		{"empty", ErrEmpty},
		{"not_found", tasks.ErrNotFound},
		{"owned", tasks.ErrOwned},
		{"blocked", tasks.ErrBlocked},
		{"done", tasks.ErrDone},
		{"busy_member", tasks.ErrBusy},
		{"transition", tasks.ErrTransition},
		{"cycle", tasks.ErrCycle},
		{"dependency", tasks.ErrDependency},
		{"conflict", tasks.ErrConflict},
		{"stale", tasks.ErrStale},
		{"invalid_request", tasks.ErrInvalid},
		{"mailbox_full", tasks.ErrFull},
		{"answered", tasks.ErrAnswered},
		{"not_asked", tasks.ErrNotAsked},
		{"disk", tasks.ErrDisk},
		{"spec", configs.ErrSpec},
	}
}

// codedError gives an error its code for the way over the bus.
func codedError(err error) error {
	var coded *bus.Error
	if errors.As(err, &coded) {
		return err
	}
	for _, k := range remoteKinds() {
		if errors.Is(err, k.kind) {
			return &bus.Error{Code: k.code, Text: err.Error()}
		}
	}
	return err
}

// decodedError gives an error that came over the bus its kind back, so that errors.Is works, and the
// text that the running team wrote.
func decodedError(err *bus.Error) error {
	for _, k := range remoteKinds() {
		if err.Code == k.code {
			return notation.Errorf(k.kind, "%s", err.Text)
		}
	}
	return errors.New(err.Text)
}
