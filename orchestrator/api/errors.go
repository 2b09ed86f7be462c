package api

import (
	"errors"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
)

// Besides the errors of packages tasks and configs, these keep their identity on
// the way from a running team to a Client.
var (
	// ErrNoMember is returned when a task, message or command names somebody who
	// is not a member of the team.
	ErrNoMember = errors.New("no such member")
	// ErrEmpty is returned for a message or task without content.
	ErrEmpty = errors.New("empty")
	// ErrNotRunning is returned when no process runs the team.
	ErrNotRunning = errors.New("not running")
	// ErrOtherVersion is returned for a team that another version of covey runs,
	// which does not understand the request.
	ErrOtherVersion = errors.New("run by another version of covey")
	// ErrDenied is returned for a request that the caller may not make.
	ErrDenied = errors.New("denied")
	// ErrTooLarge is returned for a request that is larger than the bus carries.
	ErrTooLarge = errors.New("too large")
)

// remoteKind is an error that keeps its identity on the wire, and its code there.
type remoteKind struct {
	code bus.Code
	kind error
}

// remoteKinds lists all of them. An error of two kinds gets the code of the
// first.
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

// codedError gives an error its code on the wire.
func codedError(err error) error {
	if _, coded := errors.AsType[*bus.Error](err); coded {
		return err
	}
	for _, k := range remoteKinds() {
		if errors.Is(err, k.kind) {
			return &bus.Error{Code: k.code, Text: err.Error()}
		}
	}
	return err
}

// decodedError returns an error with the kind of a remote error, for errors.Is,
// and its text.
func decodedError(err *bus.Error) error {
	for _, k := range remoteKinds() {
		if err.Code == k.code {
			return texts.Errorf(k.kind, "%s", err.Text)
		}
	}
	return errors.New(err.Text)
}
