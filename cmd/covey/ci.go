package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
)

// ciFlags are the flags of `covey ci`: some of up's, and what a job needs besides.
type ciFlags struct {
	upFlags
	ref, out string
}

// ciCommand returns `covey ci`.
func ciCommand(env *cli.Env) *cobra.Command {
	var f ciFlags
	cmd := &cobra.Command{
		Use:   "ci [SPEC] [GOAL]",
		Short: "Run a team in a CI job: within a budget, with result files",
		Long: `Run a team like "covey up", in a CI job: nobody is asked, an earlier run is forgotten,
keep and schedules of the spec do not count, and the spec must have a budget. At the
end the folder of --out has result.json, junit.xml (the run, its tasks, its gates)
and summary.md, also of a run that was cancelled. Secrets are masked in them and in
all that is printed.

With --trust-ref BASE, what the team would run (spec, gates, hooks, settings, plugins,
scripts, prices) must be what the commit BASE has; otherwise nothing starts. A pull
request of a fork runs only so, and only in a job without secrets.

Exit codes are those of "covey up": 0 done; 1 ended without finishing; 2 wrong usage
or spec; 3 a limit ended it; 4 not trusted; 130 cancelled.`,
		Example: `  covey ci --trust
  covey ci --trust-ref origin/main --out results
  covey ci team.yaml "mend the failing test" --trust-ref "$BASE_SHA"`,
		Args: cli.ArgCount(0, 2, "a spec and a goal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := ciRun{ciFlags: f, secrets: launch.Secrets(nil, os.Environ())}
			job, flush := env.ForJob(c.mask)
			c.env = job
			defer flush()
			return cli.MaskedError(withFault(c.start(cmd.Context(), args)), c.mask)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.ref, "trust-ref", "", "trust what the commit `BASE` would run, and refuse anything else")
	flags.BoolVar(&f.trust, "trust", false, "trust, for this run, what the spec would run")
	flags.StringVar(&f.out, "out", "", "the folder `DIR` for the results; default: ci, in the team's state folder")
	flags.BoolVar(&f.allowUnenforced, "allow-unenforced", false, allowUnenforcedHelp)
	return cmd
}

// ciRun is one run of `covey ci`.
type ciRun struct {
	ciFlags
	env     *cli.Env // without a terminal, and masked
	secrets []string
	team    *configs.Team
	goal    string
	commit  string // that decided what may run; empty: none did
}

// mask replaces the secrets of this machine, and those of the team once it is known.
func (c *ciRun) mask(text string) string { return texts.Mask(text, c.secrets) }

// start runs a team in a CI job. The results of an earlier job go before its spec or trust can
// refuse this one: nobody shall take them for those of a job that was refused.
func (c *ciRun) start(ctx context.Context, args []string) error {
	if err := runsTeams(c.env, runtime.GOOS); err != nil {
		return err
	}
	spec, err := c.read(args)
	if err != nil {
		return errors.Join(err, c.clearNamed())
	}
	if err := c.prepare(); err != nil {
		return err
	}
	if c.trust && c.ref != "" {
		return cli.Usagef("--trust and --trust-ref exclude each other")
	}
	if b := c.team.Budget; b.Tokens == 0 && b.USD == 0 && b.Time == 0 {
		return cli.Usagef("%s has no budget, which covey ci needs; add one, such as budget: {usd: 5, time: 30m}", spec)
	}
	if err := c.mayRun(ctx, spec); err != nil {
		return err
	}
	if err := confirmStandIns(c.env, c.team, c.allowUnenforced); err != nil {
		return err
	}
	// A job ends when the work is done, and begins without what an earlier one has left.
	c.team.Keep, c.team.Schedules, c.fresh, c.job = false, nil, true, true
	return c.run(ctx)
}

// read reads the spec and the goal, and returns the path of the spec.
func (c *ciRun) read(args []string) (spec string, err error) {
	if spec, c.goal, err = specAndGoal(c.env, args); err != nil {
		return spec, err
	}
	if c.team, err = c.env.RunnableSpec(spec); err != nil {
		return spec, err
	}
	c.secrets = launch.Secrets(c.team, os.Environ())
	return spec, nil
}

// clearNamed removes the results of an earlier job from the folder of --out. Without a spec the team
// is unknown, and so is its own folder.
func (c *ciRun) clearNamed() error {
	if c.out == "" {
		return nil
	}
	return cli.ClearJob(c.env.Path(c.out))
}

// prepare makes the folder of the results. Those of a job that runs now must stay.
func (c *ciRun) prepare() error {
	place, err := state.PlaceOf(c.team.Name, c.team.Workspace)
	if err != nil {
		return fmt.Errorf("the team's state: %w", err)
	}
	if _, up := state.Running(place); up {
		return fmt.Errorf("team %s in %s: %w; give this job a checkout of its own", place.Team,
			place.Workspace, state.ErrRunning)
	}
	if c.out == "" {
		if err := place.Create(); err != nil {
			return err
		}
		c.out = filepath.Join(place.Dir, "ci")
	}
	if c.out, err = filepath.Abs(c.env.Path(c.out)); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return cli.JobFolder(c.out)
}

// mayRun decides whether the team may run.
//
// A fork can change everything that its commit has, the spec included, so only another
// commit can say what may run. Its job must hold no secrets: the agents read text of the
// fork, which may tell them to pass secrets on.
func (c *ciRun) mayRun(ctx context.Context, spec string) error {
	fork, err := cli.ForkOf(os.Getenv)
	if err != nil {
		return err
	}
	if fork.Name != "" && c.ref == "" {
		return fmt.Errorf("the pull request of %s is %w; name a commit that is, with --trust-ref",
			term.PlainLine(fork.Name), cli.ErrNotTrusted)
	}
	if fork.Name != "" {
		if err := cli.NoSecrets(c.team, fork); err != nil {
			return err
		}
	}
	if c.ref == "" {
		return c.env.MayRun(ctx, c.team, spec, c.trust)
	}
	c.commit, err = c.env.MayRunAt(ctx, c.team, c.ref, fork)
	return err
}

// run runs the team and writes the results: first those that programs read, because a runner
// that cancels a job waits only seconds. A run that could not begin because another one goes on
// leaves nothing.
func (c *ciRun) run(ctx context.Context) error {
	r := newTeamRun(c.env, c.team, c.upFlags)
	ctx, stop := r.stopper.watch(ctx)
	defer stop()
	began := time.Now()
	ending, failed := r.run(ctx, c.goal)
	// The folder of results may belong to that other run.
	if errors.Is(failed, state.ErrRunning) {
		return failed
	}
	job := view.Job{
		Team: c.team.Name, Covey: c.env.Version, Commit: c.commit, Began: began, Elapsed: time.Since(began),
		Code: cmp.Or(ending.Code, cli.ExitCode(failed)), Ending: ending, Failed: failed, State: &r.seen, Place: r.place,
	}
	result := job.Result(c.mask)
	saved := errors.Join(result.Save(c.out), c.summarize(context.WithoutCancel(ctx), result))
	// The report on the terminal comes last: it is for people, and a cancelled job may not
	// get this far.
	if failed == nil {
		failed = r.report(ending)
	}
	if saved == nil {
		c.env.Err.Printf("results: %s\n", term.PlainLine(c.out))
		return failed
	}
	c.env.Err.Printf("covey: %s\n", term.Plain(saved.Error()))
	return cmp.Or(failed, error(&cli.EndError{Code: cli.ExitFailed}))
}

// summarize writes the summary: `covey report --md`. If there is nothing to report,
// it says how the run ended.
func (c *ciRun) summarize(ctx context.Context, result view.JobResult) error {
	// A copy that selects this team and shows nothing: the report is written for the file
	// alone.
	env := *c.env
	env.Team, env.Dir, env.Err = c.team.Name, c.team.Workspace, term.NewScreen(io.Discard)
	path := filepath.Join(c.out, "summary.md")
	err := pages.OfJob(ctx, &env, path)
	if err == nil {
		return nil
	}
	text := fmt.Sprintf("## covey: team %s\n\n**%s**: %s\n\n> There is no report: %s\n", result.Team,
		result.Status,
		texts.MarkdownText(result.Reason), texts.MarkdownText(c.mask(err.Error())))
	if err := state.WriteAtomic(path, []byte(text)); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}
