package ask

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
)

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
