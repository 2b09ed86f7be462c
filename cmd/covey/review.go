package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/verdicts"
)

// reviewCommand is `covey review [TASK|MEMBER]`.
func (c *cli) reviewCommand() *cobra.Command {
	var asJSON, logs bool
	cmd := &cobra.Command{
		Use:   "review [TASK|MEMBER]",
		Short: "Show finished work: what it changes, what gates say, what is in its way",
		Long: `Show finished work that is not merged: its branch, what it changes, what the gates
have said about it, whether it conflicts with the branch that it is for, and whether
it touches what is not its author's or is protected. With a task also work that is
merged already. Nothing is changed.`,
		Example: `  covey review
  covey review 3 --logs
  covey review --json | jq '.reviews[].conflicts'`,
		Args: argCount(0, 1, "a task or a member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := c.find()
			if err != nil {
				return err
			}
			var r orchestrator.ReviewRequest
			if len(args) > 0 {
				if r.Task, r.Member, err = workOf(place, args[0]); err != nil {
					return err
				}
			}
			r.Logs = logs
			reply, err := c.readReview(cmd.Context(), place, r)
			switch {
			case err != nil:
				return err
			case asJSON:
				return c.out.json(reply)
			case len(reply.Reviews)+len(reply.Loose) == 0:
				what := strings.Join(append([]string{"no finished work"}, args...), " of ")
				c.out.printf("%s waits\n", plainLine(what))
			}
			for i, one := range reply.Reviews {
				if i > 0 {
					c.out.printf("\n")
				}
				c.printReview(one)
			}
			for _, l := range reply.Loose {
				c.out.printf("%s\n", plainLine(l.String()+"; covey merge "+l.Member+" takes it"))
			}
			return nil
		},
		ValidArgsFunction: c.completeWork,
	}
	cmd.Flags().BoolVar(&logs, "logs", false, "with what the gates have printed")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// printUnmerged says at the end of a run which work is in no branch yet: that all
// tasks are done must not hide it.
func (c *cli) printUnmerged(work []string) {
	if len(work) == 0 {
		return
	}
	if len(work) == 1 {
		c.out.printf("1 piece of work is not merged; covey review shows it:\n")
	} else {
		c.out.printf("%d pieces of work are not merged; covey review shows them:\n", len(work))
	}
	for _, line := range work {
		c.out.printf("- %s\n", plainLine(line))
	}
}

// readReview asks the running team, or reads the files of one that does not run.
//
// Only ErrNotRunning leads to the files. A team that runs and does not answer must not be
// read behind its back: what stands in the files may be half of a step.
func (c *cli) readReview(
	ctx context.Context, place orchestrator.Place, r orchestrator.ReviewRequest,
) (orchestrator.ReviewReply, error) {
	client, err := orchestrator.Dial(ctx, place)
	if err == nil {
		defer client.Close()
		return client.Review(ctx, r)
	}
	if !errors.Is(err, orchestrator.ErrNotRunning) {
		return orchestrator.ReviewReply{}, err
	}
	team, err := c.teamOf(place)
	if err != nil {
		return orchestrator.ReviewReply{}, err
	}
	return orchestrator.ReadReview(ctx, place, team, r)
}

// printReview prints one piece of work.
//
// All texts here are words of members or of gates, so each goes through plainLine: no
// character in them may act on the terminal. Labels without a text are left
// out, so that what stands there is what matters.
func (c *cli) printReview(r orchestrator.Review) {
	line := func(label, text string, s style) {
		if text != "" {
			c.out.printf("%s %s\n", c.out.paint(faint, padded(label, 10)), c.out.paint(s, plainLine(text)))
		}
	}
	c.out.printf("%s\n", c.out.paint(bold, plainLine(mergeName(r.Merge))))
	line("by", r.Member, normal)
	line("branch", r.Branch+" for "+r.Into, normal)
	state := mergeState(r.Merge)
	if r.Reason != "" {
		state += ": " + r.Reason
	}
	line("state", state, mergeStyle(r.State))
	line("changes", fewNames(r.Changes), normal)
	line("conflicts", fewNames(r.Conflicts), red)
	line("not its own", fewNames(r.Outside), red)
	line("protected", fewNames(r.Protected), yellow)
	for _, e := range r.Evidence {
		line("evidence", e, normal)
	}
	for _, v := range r.Verdicts {
		c.printVerdict(v)
	}
	if len(r.Open) > 0 {
		line("open it", shellLine(r.Push)+" && "+shellLine(r.Open), normal)
	}
}

// printVerdict prints what a gate has said, and why it refuses.
//
// The log, where it was asked for, holds all that the feedback is taken from.
func (c *cli) printVerdict(v verdicts.Verdict) {
	c.out.printf("%s %s\n", c.out.paint(faint, padded("gate", 10)), c.verdictText(v))
	if !v.Pass && v.Log == "" && v.Feedback != "" {
		c.out.printf("%s\n", indented(v.Feedback))
	}
	if v.Log != "" {
		c.out.printf("%s\n", indented(v.Log))
	}
}

// indented sets a text of several lines off.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(plain(text), "\n"), "\n", "\n    ")
}

// fewNames is the first of some names, of files or members.
func fewNames(names []string) string {
	const shown = 10
	text := strings.Join(names[:min(len(names), shown)], ", ")
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// mergeStyle sets off what a person should look at.
func mergeStyle(s tasks.MergeState) style {
	switch s {
	case tasks.MergeHeld, tasks.MergeReturned:
		return red
	case tasks.MergeWaiting, tasks.MergeReady:
		return yellow
	case tasks.MergeDone:
		return green
	}
	return normal
}

// diffCommand is `covey diff [TASK|MEMBER]`.
func (c *cli) diffCommand() *cobra.Command {
	var asJSON, stat bool
	cmd := &cobra.Command{
		Use:   "diff [TASK|MEMBER]",
		Short: "Show what a task or a member has changed",
		Long: `Show what has been changed since the work left the branch that it is for: by a task
that is done, or by a member, with what it has not committed. Without an argument,
of all members that have changed anything. Nothing is changed, and no program that
the repository names is run.`,
		Example: `  covey diff 3
  covey diff backend --stat
  covey diff | less -R`,
		Args: argCount(0, 1, "a task or a member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := c.find()
			if err != nil {
				return err
			}
			r := orchestrator.DiffRequest{Stat: stat, Color: c.out.color && !asJSON}
			if len(args) > 0 {
				if r.Task, r.Member, err = workOf(place, args[0]); err != nil {
					return err
				}
			}
			list, err := c.readDiff(cmd.Context(), place, r)
			if err != nil {
				return err
			}
			if asJSON {
				return c.out.json(list)
			}
			c.printDiffs(list, len(args) > 0)
			return nil
		},
		ValidArgsFunction: c.completeWork,
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "a line for each file, in place of what has changed in it")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// readDiff works on the repository itself; of the team's process it needs only to
// hear which work there is.
func (c *cli) readDiff(
	ctx context.Context, place orchestrator.Place, r orchestrator.DiffRequest,
) ([]orchestrator.Diff, error) {
	team, err := c.teamOf(place)
	if err != nil {
		return nil, err
	}
	reviews, err := c.readReview(ctx, place, orchestrator.ReviewRequest{Task: r.Task, Member: r.Member})
	if err != nil {
		return nil, err
	}
	return orchestrator.ReadDiff(ctx, place, team, reviews, r)
}

// printDiffs prints differences. They are the members' words, so no character in them
// may act on a terminal; colours are git's and are put in again.
func (c *cli) printDiffs(list []orchestrator.Diff, named bool) {
	if len(list) == 0 {
		c.out.printf("nothing has been changed\n")
	}
	for _, d := range list {
		if !named || len(list) > 1 {
			c.out.printf("%s\n", c.out.paint(bold, plainLine(d.Title)))
		}
		c.out.printf("%s", paintedPlain(d.Text))
		if d.Withheld != "" {
			c.out.printf("%s\n", plainLine(d.Withheld))
		}
	}
}

// paintedPlain is plain for a text with git's colours.
//
// Only colour codes (CSI … m, of digits and semicolons) are let through. Any other escape
// is made visible as plain does it: it could move the cursor or set the title.
func paintedPlain(text string) string {
	const escape = "\x1b["
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, escape)
		b.WriteString(plain(before))
		if !found {
			return b.String()
		}
		code, after, ok := strings.Cut(rest, "m")
		if ok && strings.Trim(code, "0123456789;") == "" {
			b.WriteString(escape + code + "m")
			text = after
			continue
		}
		b.WriteString(plain("\x1b") + "[")
		text = rest
	}
}
