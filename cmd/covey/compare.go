package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/compare"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	facts "github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// compareFlags are the flags of `covey compare`.
type compareFlags struct {
	tasks, accept, out, html string
	record, replay           string // folders of recordings, with one for each run
	arms                     []string
	rounds                   int
	most                     configs.Budget
	trust, json              bool
	allowUnenforced          bool
}

// compareCommand returns `covey compare`.
func compareCommand(env *cli.Env) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare GOAL --accept CMD | --tasks DIR",
		Short: "Compare the team with its lead alone, on the same tasks",
		Long: `Give the same task to the lead alone and to the team (arms), several times, each on a
fresh copy of the repository, and judge the results by a command that no member sees: it
runs in the copy when the team has ended, with its own folder in $` + compare.FolderVariable + `. The table has what
was accepted, and what it took, with the spread.

Arms are lead and team, each also with -without-gates or -without-hooks. The task is GOAL
in this repository as it is committed, or each file of --tasks:

  covey-task: 1
  repository: ../shop            # a path from this file, or a URL
  commit: 5f2d1c9
  goal: Mend the cart.
  accept: sh $` + compare.FolderVariable + `/cart/accept.sh

A budget over all runs is required. The results are in the folder of --out; the same
command goes on where an earlier one was cut off. A member without a box can see the
arguments of covey: keep what must stay hidden in the file that --accept names.

Exit codes: 0 all runs were made; 3 the budget is used; others as for covey ci.`,
		Example: `  covey compare "mend it" --accept 'sh $COVEY_TASK/ok.sh' --budget-usd 10
  covey compare --tasks tasks -n 5 --budget-usd 50 --html report.html
  covey compare --tasks tasks --arms team,team-without-gates --budget-time 4h`,
		Args: cli.ArgCount(0, 1, "a goal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := &comparison{compareFlags: f, env: env}
			return cli.MaskedError(withFault(c.start(cmd.Context(), args)), c.mask)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tasks, "tasks", "", "a folder `DIR` of task files, instead of a goal")
	flags.StringVar(&f.accept, "accept", "", "the shell `COMMAND` that succeeds if the result is good")
	flags.IntVarP(&f.rounds, "runs", "n", 3, "how often each arm gets each task")
	flags.StringSliceVar(&f.arms, "arms", []string{compare.Lead, compare.Team}, "what is compared")
	flags.Float64Var(&f.most.USD, "budget-usd", 0, "the most that all runs may cost, in US dollars")
	flags.Int64Var(&f.most.Tokens, "budget-tokens", 0, "the most tokens that all runs may use")
	flags.DurationVar(&f.most.Time, "budget-time", 0, "the most time that all runs may take, such as 2h")
	flags.StringVar(&f.out, "out", "comparison", "the folder `DIR` of the results")
	flags.StringVar(&f.html, "html", "", "write the report as a page to `FILE`, too")
	flags.StringVar(&f.record, "record", "", "record each run in a folder of its own in `DIR`")
	flags.StringVar(&f.replay, "replay", "", "answer from what --record wrote to `DIR`, without models and keys")
	flags.BoolVar(&f.trust, "trust", false, "trust, for this command, what the spec would run")
	flags.BoolVar(&f.allowUnenforced, "allow-unenforced", false, allowUnenforcedHelp)
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// comparison is one run of `covey compare`.
type comparison struct {
	compareFlags
	env     *cli.Env
	team    *configs.Team
	prefix  string // of the workspace in its repository
	list    []compare.Task
	book    *compare.Book
	secrets []string
}

// mask replaces the secrets of this machine and of the team.
func (c *comparison) mask(text string) string { return texts.Mask(text, c.secrets) }

// start makes the runs that are missing, and prints the report.
func (c *comparison) start(ctx context.Context, args []string) error {
	if err := c.check(args); err != nil {
		return err
	}
	spec, err := c.env.SpecPath(nil)
	if err != nil {
		return err
	}
	if c.team, err = c.env.RunnableSpec(spec); err != nil {
		return err
	}
	c.secrets = launch.Secrets(c.team, os.Environ())
	if err := c.findTasks(ctx, args); err != nil {
		return err
	}
	if err := c.env.MayRun(ctx, c.team, spec, c.trust); err != nil {
		return err
	}
	if err := confirmStandIns(c.env, c.team, c.allowUnenforced); err != nil {
		return err
	}
	digest, err := c.digest()
	if err != nil {
		return err
	}
	if c.book, err = compare.OpenBook(c.env.Path(c.out), digest); err != nil {
		return err
	}
	why, failed := c.runAll(ctx)
	return errors.Join(c.report(why), failed)
}

// check refuses wrong usage, before anything is read.
func (c *comparison) check(args []string) error {
	if err := runsTeams(c.env, runtime.GOOS); err != nil {
		return err
	}
	switch b := c.most; {
	case len(args) > 0 && c.tasks != "":
		return cli.Usagef("there are a goal and --tasks, and the tasks have goals of their own; leave one of them out")
	case len(args) == 0 && c.tasks == "":
		return cli.Usagef("say what the arms get: a goal, or --tasks with a folder of task files")
	case c.tasks == "" && c.accept == "":
		return cli.Usagef("--accept is missing: the command that succeeds if the result is good")
	case c.tasks != "" && c.accept != "":
		return cli.Usagef("--accept belongs to a goal; each file of --tasks has its own accept")
	case b.USD < 0 || b.Tokens < 0 || b.Time < 0:
		return cli.Usagef("a budget is below zero; write how much all runs may use")
	case b.USD == 0 && b.Tokens == 0 && b.Time == 0:
		return cli.Usagef("covey compare needs a budget for all runs: --budget-usd, --budget-tokens or --budget-time")
	case c.rounds < 1:
		return cli.Usagef("-n is %d; each arm gets each task at least once", c.rounds)
	case c.record != "" && c.replay != "":
		return cli.Usagef("--record and --replay exclude each other")
	case len(c.arms) == 0:
		return cli.Usagef("--arms is empty; write lead,team")
	}
	for i, arm := range c.arms {
		if err := compare.CheckArm(arm); err != nil {
			return cli.Usagef("--arms: %v", err)
		}
		for _, other := range c.arms[:i] {
			if arm == other {
				return cli.Usagef("--arms names %s twice", arm)
			}
		}
	}
	return cli.NotFromInside("covey compare")
}

// findTasks reads the tasks, or makes one of the goal.
func (c *comparison) findTasks(ctx context.Context, args []string) (err error) {
	if c.tasks != "" {
		dir := c.env.Path(c.tasks)
		if c.list, err = compare.ReadTasks(dir); err != nil {
			return caseTrouble(fmt.Errorf("--tasks %s: %w", dir, err))
		}
		return nil
	}
	dir, err := c.env.Folder()
	if err != nil {
		return err
	}
	repo, err := worktree.Git{}.Open(ctx, c.team.Workspace)
	if errors.Is(err, worktree.ErrNoRepo) {
		return cli.Usagef("%s is no git repository, so there is no state to begin each run with; `git init` and a first commit make one",
			c.team.Workspace)
	}
	if err != nil {
		return err
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if errors.Is(err, worktree.ErrNoRef) {
		return cli.Usagef("%s has no commit yet, so there is no state to begin each run with", c.team.Workspace)
	}
	if err != nil {
		return err
	}
	c.prefix = repo.Prefix
	c.list = []compare.Task{{ID: "goal", Repository: repo.Top, Commit: commit, Goal: args[0], Accept: c.accept, Dir: dir}}
	return nil
}

// digest stands for what is compared: results of something else do not count.
func (c *comparison) digest() (string, error) {
	spec, err := trust.DigestOf(c.team)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{spec, c.list, c.arms, c.prefix, c.replay != "", c.env.Version})
	if err != nil {
		return "", err
	}
	return texts.Digest(text), nil
}

// runAll makes the runs that have no result. why is why some are still missing; empty: none is, or err says it.
func (c *comparison) runAll(ctx context.Context) (why string, err error) {
	runs := compare.Runs(c.list, c.arms, c.rounds)
	if err := c.book.Unfinished(runs, c.clearUp); err != nil {
		return "", err
	}
	for _, r := range runs {
		if c.book.Has(r) {
			continue
		}
		rest, used := c.rest()
		if used {
			why := "the budget is used; a higher one goes on"
			return why, &cli.EndError{Code: orchestrator.CodeLimit}
		}
		is, err := c.run(ctx, r, rest)
		if err != nil && ctx.Err() == nil {
			return "a run failed; the same command goes on", err
		}
		if err != nil {
			return "it was stopped; the same command goes on", err
		}
		word := "not accepted"
		if is.Accepted {
			word = "accepted"
		}
		c.env.Err.Printf("%s, %s, run %d: %s after %.1fs, %d tokens, $%.2f: %s\n", term.PlainLine(r.Task.ID), r.Arm, r.N, word, is.Seconds,
			is.Tokens, is.CostUSD, term.PlainLine(is.Reason))
	}
	return "", nil
}

// rest returns what is left of the budget for the next run, and whether nothing is.
func (c *comparison) rest() (b configs.Budget, used bool) {
	spent := c.book.Spent()
	if b.USD = c.most.USD - spent.CostUSD; c.most.USD == 0 {
		b.USD = 0
	} else if b.USD <= 0 {
		used = true
	}
	if b.Tokens = c.most.Tokens - spent.Tokens; c.most.Tokens == 0 {
		b.Tokens = 0
	} else if b.Tokens <= 0 {
		used = true
	}
	if b.Time = c.most.Time - time.Duration(spent.Seconds*float64(time.Second)); c.most.Time == 0 {
		b.Time = 0
	} else if b.Time <= 0 {
		used = true
	}
	return b, used
}

// run makes one run, and judges its result.
func (c *comparison) run(ctx context.Context, r compare.Run, rest configs.Budget) (is compare.Result, err error) {
	folder, err := os.MkdirTemp("", "covey-compare-")
	if err != nil {
		return is, err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return is, err
	}
	copy := filepath.Join(folder, "work")
	team := compare.Of(c.team, r.Arm, filepath.Join(copy, filepath.FromSlash(c.prefix)))
	place, err := state.PlaceOf(team.Name, folder)
	if err != nil {
		return is, err
	}
	place.Workspace = team.Workspace
	place.Dir = filepath.Join(place.Home(), state.FolderOf(team.Name, team.Workspace))
	if err := c.book.Begin(r, folder, place); err != nil {
		return is, err
	}
	team.Budget = compare.Within(team.Budget, rest)
	if err := r.Task.Copy(ctx, copy); err != nil {
		return is, errors.Join(err, c.forget(folder, place), c.book.End(r))
	}
	quiet := *c.env
	quiet.Out, quiet.Err = term.NewScreen(io.Discard), term.NewScreen(io.Discard)
	t := newTeamRun(&quiet, team, c.upFlags(r))
	within, stop := t.stopper.watch(ctx)
	began := time.Now()
	ending, err := t.run(within, r.Task.Goal)
	stop()
	is.Used = compare.UsedIn(&t.seen)
	is.Code, is.Reason, is.Seconds = ending.Code, c.mask(ending.Reason), time.Since(began).Seconds()
	if is.Cut = err != nil || ending.Code == orchestrator.CodeInterrupted; !is.Cut {
		if is.Accepted, is.Output, err = r.Task.Judge(ctx, team.Workspace); is.Accepted {
			is.Output = ""
		}
		is.Cut = err != nil
	} else if err == nil {
		err = &cli.EndError{Code: cli.ExitInterrupted}
	}
	is.Output = c.mask(is.Output)
	return is, errors.Join(c.book.Add(r, is), c.book.End(r), c.forget(folder, place), err)
}

// upFlags returns the flags with which the team of a run is brought up.
func (c *comparison) upFlags(r compare.Run) upFlags {
	f := upFlags{fresh: true, job: true}
	for _, tape := range []struct {
		to *string
		in string
	}{{&f.record, c.record}, {&f.replay, c.replay}} {
		if tape.in != "" {
			*tape.to = filepath.Join(c.env.Path(tape.in), r.Name())
		}
	}
	return f
}

// clearUp removes what a run has left that was killed, and returns what it had used by then.
func (c *comparison) clearUp(folder string, place state.Place) (used compare.Used, err error) {
	var seen facts.State
	for l, err := range state.ReadJournal(place.Journal(), 0) {
		if err == nil { // a damaged line counts nothing
			seen.Apply(l.Event())
		}
	}
	return compare.UsedIn(&seen), c.forget(folder, place)
}

// forget removes the state of a run and its copy.
func (c *comparison) forget(folder string, place state.Place) error {
	if _, err := os.Stat(place.Dir); err == nil {
		if err := state.Remove(place, func() error { return nil }); err != nil {
			return err
		}
	}
	return os.RemoveAll(folder)
}

// report prints the results, and writes the page. why is why runs are missing.
func (c *comparison) report(why string) error {
	r := compare.Summarize(c.arms, c.book.Results)
	r.Spent, r.Why = c.book.Spent(), cmp.Or(why, "it was stopped; the same command goes on")
	for _, run := range compare.Runs(c.list, c.arms, c.rounds) {
		if !c.book.Has(run) {
			r.Missing++
		}
	}
	if r.Missing == 0 {
		r.Why = ""
	}
	if c.html != "" {
		page, err := r.HTML()
		if err == nil {
			err = state.WriteAtomic(c.env.Path(c.html), page)
		}
		if err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	return c.env.Out.Show(c.json, r, func() { r.Print(c.env.Out) })
}
