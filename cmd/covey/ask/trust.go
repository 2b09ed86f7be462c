package ask

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// trustFlags are the flags of `covey trust`. Without show and forget, the command
// grants trust and shows what it covers.
type trustFlags struct {
	show, forget, json bool
}

// Trust returns `covey trust`.
func Trust(env *cli.Env) *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust [SPEC]",
		Short: "Trust what a spec would run, until it changes",
		Long: `Show what the team of SPEC would run (hooks, gates, scripts, settings files,
plugins) and trust it from now on. Trust is bound to the content: when one of these
changes, "covey up" shows the difference and asks again. A running team applies
changed settings and plugins once they are trusted. Read what somebody else wrote
before you trust it: it runs with your rights.`,
		Example: `  covey trust --show
  covey trust
  covey trust examples/quickstart/team.yaml
  covey trust --forget`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.show && f.forget {
				return cli.Usagef("--show and --forget exclude each other")
			}
			spec, err := env.SpecPath(args)
			if err != nil {
				return err
			}
			team, err := env.LoadSpec(spec)
			if err != nil {
				return err
			}
			return applyTrust(cmd.Context(), env.Out, team, spec, f)
		},
	}
	cmd.Flags().BoolVar(&f.show, "show", false, "only show what would run, and whether it is trusted")
	cmd.Flags().BoolVar(&f.forget, "forget", false, "no longer trust it")
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// applyTrust shows what a team would run and grants or revokes trust. Showing is
// always allowed; changing trust is refused from inside a running team.
func applyTrust(ctx context.Context, out *term.Screen, team *configs.Team, spec string, f trustFlags) error {
	report, err := trust.Check(ctx, team)
	if err != nil {
		return err
	}
	if !f.show {
		if err := changeTrust(ctx, team, report, f.forget); err != nil {
			return err
		}
	}
	if f.json {
		// The report is from before the change; what is printed holds after it.
		report.Trusted = !f.forget && (report.Trusted || !f.show)
		if err := out.JSON(report); err != nil || f.show || f.forget {
			return err
		}
		return reloadTeam(ctx, team, func(string, ...any) {})
	}
	switch {
	case f.forget:
		out.Printf("%s is no longer trusted\n", term.PlainLine(team.File))
	case report.Trusted && f.show:
		out.Printf("%s\ntrusted since %s, and nothing has changed since\n",
			cli.TrustText(ctx, out, team, report), report.Since.Local().Format("2006-01-02 15:04"))
	case report.Trusted:
		out.Printf("%s is trusted, and nothing has changed since\n", term.PlainLine(team.File))
	case f.show:
		out.Printf("%s\nnot trusted; covey trust%s trusts it\n",
			cli.TrustText(ctx, out, team, report), cli.SpecArg(spec))
	default:
		out.Printf("%s\ntrusted until it changes\n", cli.TrustText(ctx, out, team, report))
	}
	if f.show || f.forget {
		return nil
	}
	return reloadTeam(ctx, team, out.Printf)
}

// reloadTeam lets the team, if it runs, load the files that are trusted now, and says
// which of them it has loaded.
func reloadTeam(ctx context.Context, team *configs.Team, say func(string, ...any)) error {
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return err
	}
	reply, err := cli.Ask(ctx, place, (*api.Client).Reload, func() (none api.ReloadReply, _ error) { return none, nil })
	if err != nil {
		return fmt.Errorf("it is trusted, but the running team could not reload it: %w", err)
	}
	for _, path := range reply.Applied {
		say("the running team has loaded %s\n", term.PlainLine(path))
	}
	for _, kept := range reply.Kept {
		say("the running team keeps the old %s: %s\n", term.PlainLine(kept.Path), term.PlainLine(kept.Reason))
	}
	return nil
}

// changeTrust grants or revokes trust. What is trusted is what was read for the
// report, whatever is on disk by then.
func changeTrust(ctx context.Context, team *configs.Team, report trust.Report, forget bool) error {
	if err := cli.NotFromInside("covey trust"); err != nil {
		return err
	}
	if forget {
		return trust.Forget(ctx, team)
	}
	if report.Trusted {
		return nil
	}
	return trust.Remember(ctx, team, report)
}
