package orchestrator

import (
	"errors"
)

var (
	// ErrNoMember is returned when a task, message or command names somebody
	// who is not in the team.
	ErrNoMember = errors.New("no such member")
	// ErrEmpty is returned for a message or task without content.
	ErrEmpty = errors.New("empty")
	// ErrSpec is wrapped by New for mistakes of the spec or its files, which
	// covey reports with exit code 2.
	ErrSpec = errors.New("the spec cannot run")
	// ErrNoProgram is wrapped, beside ErrSpec, by New when the program of an agent
	// is not installed.
	ErrNoProgram = errors.New("the program of an agent is not installed")
	// errTold ends a team that was told to stop with `covey down`.
	errTold = errors.New("told to stop")
)

// ErrModelServer is wrapped by the error of ServeModels when it has not begun:
// a script with mistakes, or an address that cannot be served on.
var ErrModelServer = errors.New("the model server does not start")
