package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
)

// upFlags are the flags of `covey up`. Those of later versions are not there: a
// flag that does nothing yet is worse than one that is unknown.
type upFlags struct {
	json, detach, keep, fresh, trust bool
	init, initOnly, maintenance      bool
	dryRun, allowUnenforced          bool
}

// upCommand is `covey up`.
func (c *cli) upCommand() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up [SPEC] [GOAL]",
		Short: "Run a team until its work is done",
		Long: `Run the team that SPEC describes (team.yaml in this folder by default) and come
back when its work is done: every task completed or deleted, every member idle,
every mailbox empty. A team that was cut off goes on where it was. GOAL replaces
the goal of the spec; an argument that is a file, or ends in .yaml, .yml or
.json, is the spec.

Of a team that runs already, up takes up what has changed in the spec: members join,
begin anew or leave when their turn is over, tasks are added, gates, hooks, limits
and schedules count from then on. A spec with mistakes changes nothing.

Ctrl-C stops the team in order, a second one at once.

Exit codes: 0 done; 1 ended without finishing; 2 wrong usage or spec; 3 a limit
ended it; 4 not trusted; 130 interrupted.`,
		Example: `  covey up
  covey up team.yaml "ship the changelog endpoint"
  covey up --dry-run
  covey up --detach && covey attach
  covey up --json | jq 'select(.type == "task")'
  covey up --trust examples/quickstart/team.yaml`,
		Args: argCount(0, 2, "a spec and a goal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.up(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.detach, "detach", "d", false, "come back when the team is up; it goes on in the background")
	flags.BoolVar(&f.keep, "keep", false, "stay up when all is done, and wait for more")
	flags.BoolVar(&f.fresh, "fresh", false, "forget the earlier run: its tasks, mail and transcripts")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would start or change")
	flags.BoolVar(&f.trust, "trust", false, "trust, for this run, what the spec would run")
	flags.BoolVar(&f.allowUnenforced, "allow-unenforced", false, allowUnenforcedHelp)
	flags.BoolVar(&f.init, "init", false, "run the Setup hooks first, with the trigger init")
	flags.BoolVar(&f.initOnly, "init-only", false, "as --init, and end when every session has begun: nobody takes a turn")
	flags.BoolVar(&f.maintenance, "maintenance", false, "run the Setup hooks first, with the trigger maintenance")
	flags.BoolVar(&f.json, "json", false, "print the journal of this run, one JSON object a line, and nothing else")
	return cmd
}

// allowUnenforcedHelp tells of --allow-unenforced, for all commands that have it.
const allowUnenforcedHelp = "run agent programs that act without asking where their adapter is\nnot installed, though rules and hooks are then only checked afterwards"

// setup is what the Setup hooks are to do.
func (f upFlags) setup() orchestrator.Setup {
	switch {
	case f.init || f.initOnly:
		return orchestrator.SetupInit
	case f.maintenance:
		return orchestrator.SetupMaintenance
	}
	return orchestrator.SetupNone
}

// up runs a team, here or in the background. The order matters: a spec with
// mistakes is told of before trust is asked for it, and nothing is started, or
// even written, before both are settled.
func (c *cli) up(ctx context.Context, f upFlags, args []string) error {
	if f.detach && f.json && !f.dryRun {
		return usagef("--detach and --json exclude each other; follow a team in the background with covey logs -f --json")
	}
	if f.maintenance && (f.init || f.initOnly) || f.initOnly && (f.detach || f.keep) {
		return usagef("--maintenance excludes --init and --init-only; --init-only excludes --detach and --keep")
	}
	spec, goal, err := c.specAndGoal(args)
	if err != nil {
		return err
	}
	team, err := c.runnableSpec(spec)
	if err != nil {
		return err
	}
	if c.team != "" && c.team != team.Name {
		return usagef("%s describes team %s, not %s", spec, team.Name, c.team)
	}
	if f.dryRun {
		return c.dryRun(ctx, team, f, goal)
	}
	if err := c.mayRun(ctx, team, spec, f.trust); err != nil {
		return err
	}
	if err := c.mayStandIn(team, f.allowUnenforced); err != nil {
		return err
	}
	if done, err := c.upRunning(ctx, team, f, goal); done || err != nil {
		return err
	}
	if f.detach {
		return c.detach(ctx, team, f, goal)
	}
	return c.runTeam(ctx, team, f, goal)
}

// specAndGoal sorts the arguments of up. Without a spec, --team stands for the
// spec with which that team ran last. That makes `covey --team NAME up` take a
// team up again from any folder, and `covey up` one that covey run has made: in
// a folder without a spec the team is meant that worked there last.
func (c *cli) specAndGoal(args []string) (spec, goal string, err error) {
	switch {
	case len(args) == 2:
		return c.specPath(args[:1]), args[1], nil
	case len(args) == 1 && c.looksLikeSpec(args[0]):
		return c.specPath(args), "", nil
	case len(args) == 1:
		goal = args[0]
	}
	if c.team == "" && (goal != "" || fileExists(c.specPath(nil))) {
		return c.specPath(nil), goal, nil
	}
	place, err := c.find()
	if errors.Is(err, orchestrator.ErrNoTeam) {
		return c.specPath(nil), goal, nil
	}
	if err != nil {
		return "", "", err
	}
	if dir, err := c.folder(); c.team == "" && (err != nil || !sameFolder(dir, place.Workspace)) {
		return c.specPath(nil), goal, nil
	}
	run, err := orchestrator.ReadRunFile(place)
	if err != nil || run.Spec == "" {
		return "", "", fmt.Errorf("team %s has no record of its spec; name it: covey up SPEC", place.Team)
	}
	return run.Spec, goal, nil
}

// runTeam runs a team in this process and shows it. The report is printed only
// after the terminal was given back, so that it stays on the screen that the
// person goes on with. The watch for signals outlives the report, so that a
// Ctrl-C which comes a moment too late does not cut it off.
func (c *cli) runTeam(ctx context.Context, team *configs.Team, f upFlags, goal string) error {
	r := newTeamRun(c, team, f)
	ctx, stop := r.stopper.watch(ctx)
	defer stop()
	o, err := orchestrator.New(team, orchestrator.Options{
		Goal: goal, Fresh: f.fresh, Keep: f.keep, Version: thisBuild().Version,
		Log: r.log, OnLine: r.onLine, OnUp: r.onUp, OwnProcess: true,
		ManagedFolders: c.managed, Setup: f.setup(), SetupOnly: f.initOnly,
	})
	if err != nil {
		return specTrouble(team.File, err)
	}
	r.show(o.Place())
	ending, err := o.Run(ctx)
	r.hide()
	if err != nil {
		return err
	}
	if !f.json {
		c.report(team.Name, ending, &r.hooks)
	}
	if ending.Code != orchestrator.CodeDone {
		return &endError{code: ending.Code, err: r.lastWord(ending)}
	}
	return nil
}

// fileExists reports whether there is something at path.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sameFolder reports whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	left, err1 := os.Stat(a)
	right, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(left, right)
}
