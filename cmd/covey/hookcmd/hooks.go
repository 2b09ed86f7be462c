// Package hookcmd implements covey hooks: it lists hooks, lists events, and fires an
// event by hand. It makes no promise of compatibility to programs outside covey.
package hookcmd

import (
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// Command returns `covey hooks`. examine is its subcommand doctor, which another
// package implements.
func Command(env *cli.Env, examine *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List and check a team's hooks, or fire an event by hand",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(hooksListCommand(env), hooksRunCommand(env), examine)
	return cmd
}
