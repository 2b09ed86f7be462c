package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// trustFlags are the flags of `covey trust`. Without one of them trust is
// given, and what it is given to is shown.
type trustFlags struct {
	show, forget, json bool
}

// trustCommand is `covey trust`.
func trustCommand(env *cli.Env) *cobra.Command {
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
			team, err := env.LoadSpec(env.SpecPath(args))
			if err != nil {
				return err
			}
			return settleTrust(cmd.Context(), env.Out, team, f)
		},
	}
	cmd.Flags().BoolVar(&f.show, "show", false, "only show what would run, and whether it is trusted")
	cmd.Flags().BoolVar(&f.forget, "forget", false, "no longer trust it")
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// settleTrust shows what a team would run and remembers, or forgets, that it may. To
// look is always allowed; to change it is not, from below a running team.
func settleTrust(ctx context.Context, out *term.Screen, team *configs.Team, f trustFlags) error {
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
		report.Trusted = !f.forget && (report.Trusted || !f.show)
		if err := out.JSON(report); err != nil || f.show || f.forget {
			return err
		}
		return takenUp(ctx, team, func(string, ...any) {})
	}
	switch {
	case f.forget:
		out.Printf("%s is no longer trusted\n", term.PlainLine(team.File))
	case report.Trusted:
		out.Printf("%s is trusted, and nothing has changed since\n", term.PlainLine(team.File))
	case f.show:
		out.Printf("%s\nnot trusted\n", cli.TrustText(out, team, report))
	default:
		out.Printf("%s\ntrusted until it changes\n", cli.TrustText(out, team, report))
	}
	if f.show || f.forget {
		return nil
	}
	return takenUp(ctx, team, out.Printf)
}

// takenUp has the team take up what is trusted now, if it runs, and tells which
// files that made a difference to.
func takenUp(ctx context.Context, team *configs.Team, say func(string, ...any)) error {
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return err
	}
	client, err := api.Dial(ctx, place)
	if errors.Is(err, api.ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	defer client.Close()
	reply, err := client.Reload(ctx)
	if err != nil {
		return fmt.Errorf("it is trusted, but the running team could not be told: %w", err)
	}
	for _, path := range reply.Applied {
		say("the running team has taken up %s\n", term.PlainLine(path))
	}
	for _, kept := range reply.Kept {
		say("the running team keeps the old %s: %s\n", term.PlainLine(kept.Path), term.PlainLine(kept.Reason))
	}
	return nil
}

// changeTrust remembers or forgets. What is remembered is what was read for the
// report, whatever is on the disk by then.
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
