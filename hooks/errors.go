package hooks

import "errors"

var (
	// ErrCallback is returned by Registry.Add for a callback that could never run.
	ErrCallback = errors.New("not a callback")
)
