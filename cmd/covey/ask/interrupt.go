package ask

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
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

// Hold returns `covey hold MEMBER`.
func Hold(env *cli.Env) *cobra.Command {
	return holdCommand(env, "hold", "Keep a member from beginning another turn", `Keep a member from beginning another turn, also after restarts of the team, until
"covey resume" or until you send it a text. Its current turn continues to its end;
"covey interrupt" aborts it. A team all of whose open work is held waits with
--keep, and ends with code 1 without it. Only the operator and the lead may hold
members.`)
}

// Resume returns `covey resume MEMBER`.
func Resume(env *cli.Env) *cobra.Command {
	return holdCommand(env, "resume", "Let a held member continue", `Let a member continue that "covey hold" or "covey interrupt" holds. If one of its
turns was aborted, it is told to continue that turn. While the team does not run,
the command is kept for its next run. The lead may resume the members that it holds.`)
}

// holdCommand returns one of the two commands.
func holdCommand(env *cli.Env, verb, short, long string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     verb + " MEMBER",
		Short:   short,
		Long:    long,
		Example: "  covey " + verb + " backend",
		Args:    cli.ArgCount(1, 1, "a member"),
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			reply, err := askToHold(ctx, place, api.HoldRequest{Member: args[0], Resume: verb == "resume"})
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, reply, func() { env.Out.Printf("%s\n", holdText(reply)) })
		}),
		ValidArgsFunction: env.CompleteMember,
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// askToHold asks the running team or, if none runs, stores the request for its next
// run.
func askToHold(ctx context.Context, place state.Place, r api.HoldRequest) (api.HoldReply, error) {
	return cli.Ask(ctx, place, cli.With((*api.Client).Hold, r), func() (api.HoldReply, error) {
		if err := cmp.Or(cli.NotFromInside("covey hold"), cli.KnownMember(place, r.Member)); err != nil {
			return api.HoldReply{}, err
		}
		changed, err := members.HoldStopped(ctx, place, r.Member, r.Resume)
		return api.HoldReply{Member: r.Member, Held: !r.Resume, Changed: changed}, err
	})
}

// holdText describes the result of a hold or resume.
func holdText(r api.HoldReply) string {
	name := term.PlainLine(r.Member)
	switch {
	case r.Held && !r.Changed:
		return name + " is held already; covey resume " + name + " lets it go on"
	case r.Held && r.InTurn:
		return name + " is held: it ends this turn and begins no other; covey interrupt " + name + " breaks it off"
	case r.Held:
		return name + " is held; covey resume " + name + ", or a text sent to it, lets it go on"
	case !r.Changed:
		return name + " is not held"
	}
	return name + " goes on"
}
