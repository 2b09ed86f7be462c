package ask

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
)

// Interrupt returns `covey interrupt MEMBER`.
func Interrupt(env *cli.Env) *cobra.Command {
	var asJSON, goOn bool
	cmd := &cobra.Command{
		Use:   "interrupt MEMBER",
		Short: "End the turn that a member is in",
		Long: `End the turn that a member is in: its tool call is stopped, and its gates do not
run. The member keeps its place and its tasks, and is held: it begins no other turn
until "covey resume" or until you send it a text. With --go-on it is not held and
continues with its next work.`,
		Example: `  covey interrupt backend
  covey interrupt backend && covey send backend "not there: look at api/v2"
  covey interrupt backend --go-on`,
		Args: cli.ArgCount(1, 1, "a member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Only a running team has a turn to interrupt; there is nothing to read from
			// its files.
			r := api.InterruptRequest{Member: args[0], GoOn: goOn}
			reply, err := cli.Call(cmd.Context(), env, cli.With((*api.Client).Interrupt, r))
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, reply, func() { env.Out.Printf("%s\n", interruptText(args[0], reply)) })
		},
		ValidArgsFunction: env.CompleteMember,
	}
	cmd.Flags().BoolVar(&goOn, "go-on", false, "do not hold the member: it continues with its next work")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// interruptText describes the result of an interrupt. That there was nothing to
// interrupt is not an error: a script that interrupts "just in case" must not stop.
func interruptText(member string, r api.InterruptReply) string {
	if r.Retries {
		// A member that is locked out, or whose last turn failed, is in no turn. Interrupt then
		// ends the wait, for an operator who has just logged in or paid.
		return term.PlainLine(member) + " waits no longer and tries again now"
	}
	text := term.PlainLine(member) + " is in no turn"
	if r.Interrupted {
		text = fmt.Sprintf("%s: turn %d interrupted", term.PlainLine(member), r.Turn)
	}
	switch {
	case r.Held:
		text += "; it is held until covey resume " + term.PlainLine(member) + " or a text sent to it"
	case !r.Interrupted:
		text += "; there is nothing to interrupt"
	}
	return text
}
