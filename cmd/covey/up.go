package main

import (
	"context"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/acpserver"
	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
)

// upFlags are the flags of `covey up`. Flags of later versions are not defined: an
// unknown flag is better than one without effect.
type upFlags struct {
	json, detach, keep, fresh, trust bool
	standby                          bool
	init, initOnly, maintenance      bool
	dryRun, allowUnenforced          bool
	web                              string // where the page of the team listens; empty: there is none
	served                           bool   // by covey acp
	job                              bool   // by covey ci
	record, replay                   string // folders of recordings; empty: none
}

// upCommand returns `covey up`.
func upCommand(env *cli.Env) *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up [SPEC] [GOAL]",
		Short: "Run a team until its work is done",
		Long: `Run the team that SPEC describes (team.yaml in this folder by default) until its
work is done: every task completed or deleted, every member idle, every mailbox
empty. An interrupted team continues where it was. GOAL replaces the goal of the
spec; an argument that is a file, or ends in .yaml, .yml or .json, is the spec.

If the team already runs, up applies the changes in its spec: members join, restart
or leave when their turn is over, tasks are added, and gates, hooks, limits and
schedules apply from then on. A spec with mistakes changes nothing.

On a terminal, up shows the board of "covey attach", and the team may ask you there.
Ctrl-C stops the team in order; a second Ctrl-C ends the process at once.

Exit codes: 0 done; 1 ended without finishing; 2 wrong usage or spec; 3 a limit
ended it; 4 not trusted; 130 interrupted. A team that ends without its work done says
why with a code, such as [stuck]; ` + env.Page("errors.md") + ` explains each.`,
		Example: `  covey up
  covey up team.yaml "ship the changelog endpoint"
  covey up --dry-run
  covey up --detach && covey attach
  covey up --web
  covey up --json | jq 'select(.type == "task")'
  covey up --trust examples/quickstart/team.yaml`,
		Args: cli.ArgCount(0, 2, "a spec and a goal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withFault(bringUp(cmd.Context(), env, f, args))
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.detach, "detach", "d", false, "return when the team is up; it continues in the background")
	flags.BoolVar(&f.keep, "keep", false, "stay up when all is done, and wait for more")
	flags.BoolVar(&f.fresh, "fresh", false, "forget the earlier run: its tasks, mail and transcripts")
	flags.BoolVar(&f.standby, "standby", false, "wait until the host that runs the team is gone, and continue it; see bus in the spec")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would start or change")
	flags.BoolVar(&f.trust, "trust", false, "trust, for this run, what the spec would run")
	flags.BoolVar(&f.allowUnenforced, "allow-unenforced", false, allowUnenforcedHelp)
	flags.BoolVar(&f.init, "init", false, "run the Setup hooks first, with the trigger init")
	flags.BoolVar(&f.initOnly, "init-only", false, "like --init, but end when every session has begun, without turns")
	flags.BoolVar(&f.maintenance, "maintenance", false, "run the Setup hooks first, with the trigger maintenance")
	flags.StringVar(&f.record, "record", "", "record in the folder `DIR` what models are asked and answer")
	flags.StringVar(&f.replay, "replay", "", "answer from the recording in the folder `DIR`, without models and keys")
	f.addWeb(cmd)
	flags.BoolVar(&f.json, "json", false, "print the journal of this run, one JSON object a line, and nothing else")
	flags.BoolVar(&f.served, acpserver.UpFlag, false, "for covey acp: end with standard input or the work; questions wait")
	_ = flags.MarkHidden(acpserver.UpFlag) // it fails only for a flag that is not there
	return cmd
}

// addWeb adds the flags of the web page.
func (f *upFlags) addWeb(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.web, "web", "", "show the team as a web page while it runs, at `ADDR` or a free port; see covey web")
	flags.Lookup("web").NoOptDefVal = anyPort
}

// anyPort is --web without an address.
const anyPort = "127.0.0.1:0"

// allowUnenforcedHelp describes --allow-unenforced for all commands that have it.
const allowUnenforcedHelp = "run agent programs that act without asking where their adapter is not installed, though rules and hooks are then only checked afterwards"

// setup returns which Setup hooks to run.
func (f upFlags) setup() orchestrator.Setup {
	switch {
	case f.init || f.initOnly:
		return orchestrator.SetupInit
	case f.maintenance:
		return orchestrator.SetupMaintenance
	}
	return orchestrator.SetupNone
}

// placeTapes makes the folders of recordings absolute, because the program in the background may work elsewhere.
func (f *upFlags) placeTapes(env *cli.Env) error {
	if f.record != "" && f.replay != "" {
		return cli.Usagef("--record and --replay exclude each other")
	}
	for _, dir := range []*string{&f.record, &f.replay} {
		if *dir == "" {
			continue
		}
		var err error
		if *dir, err = filepath.Abs(env.Path(*dir)); err != nil {
			return err
		}
	}
	return nil
}

// bringUp runs a team, here or in the background. The order matters: mistakes in the
// spec are reported before the question about trust, and nothing is started or
// written before both are decided.
func bringUp(ctx context.Context, env *cli.Env, f upFlags, args []string) error {
	if err := runsTeams(env, runtime.GOOS); err != nil {
		return err
	}
	if f.detach && f.json && !f.dryRun {
		return cli.Usagef("--detach and --json exclude each other; follow a team in the background with covey logs -f --json")
	}
	if f.maintenance && (f.init || f.initOnly) || f.initOnly && (f.detach || f.keep) {
		return cli.Usagef("--maintenance excludes --init and --init-only; --init-only excludes --detach and --keep")
	}
	if err := f.placeTapes(env); err != nil {
		return err
	}
	spec, goal, err := specAndGoal(env, args)
	if err != nil {
		return err
	}
	team, err := env.RunnableSpec(spec)
	if err != nil {
		return err
	}
	if env.Team != "" && env.Team != team.Name {
		return cli.Usagef("%s describes team %s, not %s", spec, team.Name, env.Team)
	}
	if f.standby && (!team.Bus.Given() || f.fresh) {
		return cli.Usagef("--standby needs a bus in %s, and excludes --fresh", spec)
	}
	if f.dryRun {
		return dryRun(ctx, env, team, f, goal)
	}
	if err := env.MayRun(ctx, team, spec, f.trust); err != nil {
		return err
	}
	if err := confirmStandIns(env, team, f.allowUnenforced); err != nil {
		return err
	}
	if f.served {
		return runTeam(ctx, env, team, f, goal) // fails if the team runs
	}
	if done, err := upRunning(ctx, env.Out, team, f, goal); done || err != nil {
		if err == nil && f.web != "" {
			env.Err.Printf("the team ran before, so it shows no page; `covey web` shows one\n")
		}
		return err
	}
	if f.detach {
		return startDetached(ctx, env, team, f, goal)
	}
	return runTeam(ctx, env, team, f, goal)
}

// runTeam runs a team in this process and displays it. The watch for signals ends after the
// report, so that a late Ctrl-C does not cut it off.
func runTeam(ctx context.Context, env *cli.Env, team *configs.Team, f upFlags, goal string) error {
	// The first team of a user has no state home yet; its crash must be kept, too.
	env.Crash.Begin(true)
	r := newTeamRun(env, team, f)
	ctx, stop := r.stopper.watch(ctx)
	defer stop()
	if f.served {
		team.Keep, team.OnAsk = false, configs.WaitAsk
		r.stopper.endWith(env.In)
	}
	ending, err := r.run(ctx, goal)
	if err != nil {
		return err
	}
	return r.report(ending)
}
