package doctor

import (
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// HooksCommand returns `covey hooks`.
func HooksCommand(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List and check a team's hooks, or fire an event by hand",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(hooksListCommand(env), hooksRunCommand(env), hooksDoctorCommand(env))
	return cmd
}
