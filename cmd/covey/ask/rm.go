package ask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// pruneAfter is how long `covey prune` leaves teams alone after their last run.
const pruneAfter = 30 * 24 * time.Hour

// removal is a team in the output of `covey rm` and `covey prune`.
type removal struct {
	Team      string `json:"team"`
	Workspace string `json:"workspace"`
	Dir       string `json:"dir"` // of its state
	Removed   bool   `json:"removed"`
	Stays     string `json:"stays,omitempty"` // why it is not removed
	workcopies.Legacy

	place state.Place
}

// removeFlags are the flags of both commands.
type removeFlags struct{ yes, json bool }

// add adds the flags to a command.
func (f *removeFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cli.JSONFlag(cmd, &f.json)
}

// Remove returns `covey rm`.
func Remove(env *cli.Env) *cobra.Command {
	var f removeFlags
	cmd := &cobra.Command{
		Use:        "rm [TEAM]",
		SuggestFor: []string{"remove", "delete"},
		Short:      "Remove what covey keeps of a team that does not run",
		Long: `Remove what covey keeps of the team of this folder, or of TEAM: tasks, messages,
journal, transcripts, and the members' git working copies and merged branches. The
team must not run. covey lists what goes and what stays, and asks; elsewhere than on
a terminal, --yes agrees. The next "covey up" begins anew.

Unmerged work is never removed: branches that are not merged stay, pushed ones too, and a team with
uncommitted work in a working copy stays as it is. Your files, the spec and the trust
in it stay, too.`,
		Example: `  covey rm
  covey rm changelog-crew --yes`,
		Args: cli.ArgCount(0, 1, "at most one team"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.NotFromInside("covey rm"); err != nil {
				return err
			}
			if len(args) > 0 {
				env.Team = args[0]
			}
			place, err := env.Find()
			if err != nil {
				return err
			}
			if !workcopies.IsFolder(place.Dir) { // the spec names it
				return fmt.Errorf("team %s has never run, so there is nothing to remove", place.Team)
			}
			r := removalOf(cmd.Context(), env, place)
			if r.Stays != "" {
				return fmt.Errorf("team %s stays: %s", r.Team, r.Stays)
			}
			list := []removal{r}
			return f.remove(cmd.Context(), env, list, &list[0])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return cli.CompleteTeam(cmd, args, part)
		},
	}
	f.add(cmd)
	return cmd
}

// Prune returns `covey prune`.
func Prune(env *cli.Env) *cobra.Command {
	var f removeFlags
	var older time.Duration
	cmd := &cobra.Command{
		Use:        "prune",
		SuggestFor: []string{"clean"},
		Short:      "Remove what covey keeps of all teams that ended long ago",
		Long: `Remove all teams of this user that do not run and whose last run ended before the
time of --older, as "covey rm" removes one: covey lists what goes and what stays, and
asks, and unmerged work is never removed.`,
		Example: `  covey prune
  covey prune --older 168h --yes`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.NotFromInside("covey prune"); err != nil {
				return err
			}
			if older < 0 { // every team would be older
				return cli.Usagef("--older must not be negative, as %s is; 0s means every team that does not run", older)
			}
			places, err := state.All()
			if err != nil {
				return err
			}
			list := []removal{}
			for _, p := range places {
				named := env.Team == "" || env.Team == p.Team
				if info := cli.InfoOf(p); named && info.State != cli.TeamRunning && time.Since(lastUse(p, info)) >= older {
					list = append(list, removalOf(cmd.Context(), env, p))
				}
			}
			return f.remove(cmd.Context(), env, list, list)
		},
	}
	cmd.Flags().DurationVar(&older, "older", pruneAfter, "only teams whose last run ended this `TIME` ago")
	f.add(cmd)
	return cmd
}

// lastUse returns when a team was last used: when its last run ended, or wrote something.
func lastUse(p state.Place, info cli.TeamInfo) (last time.Time) {
	if info.Result != nil {
		return info.Result.Ended
	}
	for _, path := range []string{p.Dir, p.Journal()} {
		if file, err := os.Stat(path); err == nil && file.ModTime().After(last) {
			last = file.ModTime()
		}
	}
	return last
}

// removalOf looks at what the removal of a team would do.
func removalOf(ctx context.Context, env *cli.Env, p state.Place) removal {
	r := removal{Team: p.Team, Workspace: p.Workspace, Dir: p.Dir, place: p}
	switch info := cli.InfoOf(p); info.State {
	case cli.TeamRunning:
		r.Stays = "it runs; covey down ends it"
	case cli.TeamDamaged: // by a newer covey, perhaps
		r.Stays = info.Trouble
	default:
		if err := r.look(ctx, env); err != nil {
			r.Stays = err.Error()
		}
	}
	return r
}

// look looks at the team's repository.
func (r *removal) look(ctx context.Context, env *cli.Env) (err error) {
	var filters []worktree.Filter
	team, specErr := configs.LoadWith(cli.SpecOf(r.place), configs.Options{Version: env.Version})
	if specErr == nil {
		filters = trust.TrustedFilters(ctx, team)
	}
	r.Legacy, err = workcopies.LegacyOf(ctx, workcopies.GitFor(r.place, filters), r.place)
	if err == nil && specErr == nil && team.Bus.Given() {
		err = r.Legacy.LookElsewhere(ctx)
	}
	return err
}

// remove lists what goes and what stays, asks, and removes the teams that can go. The list goes to
// standard error, and what was done to standard output: with --json as result, which refers to list.
func (f removeFlags) remove(ctx context.Context, env *cli.Env, list []removal, result any) error {
	going := 0
	for _, r := range list {
		env.Err.Printf("%s", r.text())
		if r.Stays == "" {
			going++
		}
	}
	// The list is shown before the checks, so that a script's log has it, too.
	switch {
	case going == 0 && !f.json:
		env.Out.Printf("nothing to remove\n")
	case going > 0 && !f.yes && !env.Interactive():
		return cli.Usagef("covey asks before it removes a team; without a terminal, --yes agrees")
	case going > 0 && !f.yes && !env.Agreed("Remove that?"):
		return &cli.EndError{Code: cli.ExitFailed, Err: errors.New("nothing was removed")}
	}
	var failed error
	for i := range list {
		r := &list[i]
		if r.Stays != "" {
			continue
		}
		err := state.Remove(r.place, func() error {
			if err := r.look(ctx, env); err != nil { // again, because it may have changed
				return err
			}
			return r.Legacy.Remove(ctx)
		})
		switch r.Removed = err == nil; {
		case err != nil:
			r.Stays = err.Error()
			failed = &cli.EndError{Code: cli.ExitFailed, Err: errors.Join(failed, fmt.Errorf("team %s stays: %w", r.Team, err))}
		case !f.json:
			env.Out.Printf("%s is removed\n", r.Team)
		}
	}
	if f.json {
		return errors.Join(failed, env.Out.JSON(result))
	}
	return failed
}

// text describes what goes with a team and what stays.
func (r removal) text() string {
	var b strings.Builder
	line := func(indent, format string, args ...any) {
		b.WriteString(indent + term.PlainLine(fmt.Sprintf(format, args...)) + "\n")
	}
	name := r.Team
	if r.Workspace != "" {
		name += " in " + r.Workspace
	}
	if r.Stays != "" {
		line("", "%s stays: %s", name, r.Stays)
		return b.String()
	}
	line("", "%s, last used %s:", name, lastUse(r.place, cli.InfoOf(r.place)).Local().Format("2006-01-02 15:04"))
	line("  ", "remove its state in %s", r.Dir)
	for _, top := range r.Copies {
		line("  ", "remove the working copy %s", top)
	}
	for _, branch := range r.Branches {
		line("  ", "remove the branch %s, which is merged", branch)
	}
	for _, name := range r.Pushed {
		line("  ", "remove %s of the remote, which is merged", name)
	}
	for _, k := range r.Kept {
		line("  ", "keep %s: %s", k.Name, k.Why)
		if k.Show != "" {
			line("    ", "%s", k.Show)
		}
	}
	return b.String()
}
