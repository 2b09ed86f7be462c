//go:build !linux

package state

import (
	"errors"
	"io/fs"
)

// claimName does nothing here: there are no names besides those of files.
func claimName(string) (release func() error, err error) { return func() error { return nil }, nil }

// nameHolder finds no name here.
func nameHolder(string) (pid int, err error) { return 0, nil }

// Holder returns the process that runs a team, or uses its store instead; 0: none does.
func Holder(p Place) (pid int, err error) {
	pid, err = heldBy(p.Lock())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return pid, err
}
