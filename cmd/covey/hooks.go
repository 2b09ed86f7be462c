package main

import (
	"github.com/spf13/cobra"
)

// hooksCommand is `covey hooks`.
func (c *cli) hooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List a team's hooks, find faults in them, or fire an event by hand",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.hooksListCommand(), c.hooksRunCommand(), c.hooksDoctorCommand())
	return cmd
}
