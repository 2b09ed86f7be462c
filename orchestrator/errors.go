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
	// errTold ends a team that was told to stop with `covey down`.
	errTold = errors.New("told to stop")
)
