package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
)

// mayRun says whether a team may be run. Until trust can be remembered, only
// --trust gives it.
func (c *cli) mayRun(_ context.Context, team *configs.Team, given bool) error {
	if given {
		return nil
	}
	return fmt.Errorf("%s is %w: --trust trusts it for this run", team.File, errNotTrusted)
}

// trustCommand is `covey trust`.
func (c *cli) trustCommand() *cobra.Command {
	return &cobra.Command{Use: "trust [SPEC]", Short: "Trust what a spec would run", Args: noArgs}
}
