package main

import "errors"

// errWindows tells what to do on Windows. A team needs /bin/sh for its gates and hooks,
// and a system that says which process is at the other end of a socket, or it could obey
// nobody.
var errWindows = errors.New("teams do not run on Windows itself; use WSL: `wsl --install`, then install covey inside it " +
	"and keep the workspace there (docs/install.md)")

// runsTeams returns an error on systems, named as by runtime.GOOS, where no team can run.
// What needs no team, such as covey validate, works there.
func runsTeams(system string) error {
	if system == "windows" {
		return errWindows
	}
	return nil
}
