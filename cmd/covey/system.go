package main

import (
	"fmt"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// runsTeams returns an error on systems, named as by runtime.GOOS, where no team can run: it needs
// /bin/sh for its gates and hooks, and a system that says which process is at the other end of a
// socket, or it could obey nobody. What needs no team, such as covey validate, works there.
func runsTeams(env *cli.Env, system string) error {
	if system == "windows" {
		return fmt.Errorf("teams do not run on Windows itself; use WSL: `wsl --install`, then install covey inside "+
			"it and keep the workspace there (%s)", env.Page("install.md"))
	}
	return nil
}
