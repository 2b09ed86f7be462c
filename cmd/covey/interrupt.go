package main

import (
	"github.com/spf13/cobra"
)

// interruptCommand is `covey interrupt MEMBER`.
func (c *cli) interruptCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "interrupt MEMBER",
		Short: "End the turn that a member is in",
		Long: `End the turn that a member is in: its tool call is stopped, its gates do not run.
The member stays in the team, keeps its tasks, and goes on with what comes next,
such as a text that "covey send" gives it.`,
		Example: `  covey interrupt backend
  covey interrupt backend && covey send backend "not there: look at api/v2"`,
		Args: argCount(1, 1, "a member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			reply, err := client.Interrupt(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return c.out.json(reply)
			// A member that is locked out, or whose last turn failed, is in no turn;
			// what interrupt breaks off there is the wait, so that a person who has
			// just logged in or paid need not sit it out.
			case reply.Retries:
				c.out.printf("%s waits no longer and tries again now\n", plainLine(args[0]))
			// Nothing to do is no failure: a script that interrupts "just in
			// case" before it sends must not stop here.
			case !reply.Interrupted:
				c.out.printf("%s is in no turn; there is nothing to interrupt\n", plainLine(args[0]))
			default:
				c.out.printf("%s: turn %d interrupted\n", plainLine(args[0]), reply.Turn)
			}
			return nil
		},
		ValidArgsFunction: c.completeMember,
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
