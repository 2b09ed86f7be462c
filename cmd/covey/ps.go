package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/orchestrator"
)

// psCommand is `covey ps`.
func (c *cli) psCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "Show what each member does and waits for",
		Long: `Show the team: per member its agent, its state, which turn and pass it is in, its
task, what it waits for, unread mail, and how often gates have refused it; then its
schedules, and when each comes next. When the team does not run, the result of its
last run is shown, and schedules that were missed come with the next covey up.`,
		Example: `  covey ps
  covey ps --all          # every team of this user
  covey ps --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				return c.psAll(asJSON)
			}
			place, err := c.find()
			if err != nil {
				return err
			}
			status, err := readStatus(cmd.Context(), place)
			if err != nil {
				return err
			}
			if asJSON {
				return c.out.json(status)
			}
			c.printStatus(status, time.Now())
			return nil
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list all teams of this user")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// readStatus asks the running team, or reads its files. Which of the two it was
// makes no difference to what is printed, but that a process knows more.
func readStatus(ctx context.Context, place orchestrator.Place) (orchestrator.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	client, err := orchestrator.Dial(ctx, place)
	if err == nil {
		defer client.Close()
		return client.Status(ctx)
	}
	if !errors.Is(err, orchestrator.ErrNotRunning) {
		return orchestrator.Status{}, err
	}
	return filesStatus(ctx, place)
}

// printStatus prints a team and its members. Below the table stands what does
// not fit into a column and must not be cut.
func (c *cli) printStatus(s orchestrator.Status, now time.Time) {
	c.out.printf("%s\n", c.out.paint(bold, statusLine(s, now)))
	c.printBudget(s.Budget)
	if len(s.Members) > 0 {
		c.out.printf("\n")
		memberTable(s.Members, now).print(c.out)
	}
	for _, m := range s.Members {
		name := plainLine(m.Name)
		switch {
		case m.Attention == "":
		case m.State == orchestrator.LoggedOut: // it says itself what is to be done
			c.out.printf("%s\n", c.out.paint(yellow, fmt.Sprintf("! %s: %s", name, plainLine(m.Attention))))
		case m.State == orchestrator.Ended: // nothing that is sent to it helps it on
			c.out.printf("%s\n", c.out.paint(yellow, fmt.Sprintf("! %s takes no more turns: %s", name,
				plainLine(m.Attention))))
			c.out.printf("%s\n", c.out.paint(faint, fmt.Sprintf("  covey logs %s tells what happened; "+
				"the team's next start brings it back", name)))
		default:
			c.out.printf("%s\n", c.out.paint(yellow, fmt.Sprintf("! %s needs attention: %s", name,
				plainLine(m.Attention))))
			c.out.printf("%s\n", c.out.paint(faint,
				fmt.Sprintf("  covey logs %s tells what happened; covey send %s TEXT helps it on",
					name, name)))
		}
	}
	c.printWorktrees(s.Members)
	c.printSchedules(s, now)
	if s.Requests > 0 {
		c.out.printf("%s\n", c.out.paint(yellow, plural(s.Requests, "question")+
			" for you: covey inbox shows and answers"))
	}
	c.printHookTrouble(hooksOf(s.Members))
}

// statusLine sums a team up in one line. A result takes a second line: why a
// run ended may be a long story. now is the caller's, so that the line can be
// tested; the result's age and the running time are measured from it.
func statusLine(s orchestrator.Status, now time.Time) string {
	tasks := ""
	if all := s.Tasks.Total(); all > 0 {
		tasks = fmt.Sprintf(" · %d of %d tasks done", s.Tasks.Completed, all)
	}
	head := plainLine(s.Team) + " in " + plainLine(s.Workspace)
	switch {
	case s.PID > 0 && !s.Up:
		return fmt.Sprintf("%s · starting (process %d)%s", head, s.PID, tasks)
	case s.PID > 0:
		return fmt.Sprintf("%s · running for %s (process %d)%s", head, elapsed(now.Sub(s.Started)), s.PID, tasks)
	case s.Result == nil:
		return fmt.Sprintf("%s · not running; the last run was cut off, covey up takes it up again%s", head, tasks)
	}
	return fmt.Sprintf("%s · not running%s\nlast run: %s (code %d, %s ago)", head, tasks,
		plainLine(s.Result.Reason), s.Result.ExitCode, elapsed(now.Sub(s.Result.Ended)))
}

// memberTable is the table of `covey ps`. One column holds what a member is
// busy with or waits for, since it is never both.
func memberTable(members []orchestrator.MemberStatus, now time.Time) *table {
	t := &table{head: []string{"MEMBER", "AGENT", "STATE", "TURN", "PASS", "TASK", "WAITS FOR", "UNREAD", "REFUSALS"}}
	limited := slices.ContainsFunc(members, func(m orchestrator.MemberStatus) bool { return len(m.Limits) > 0 })
	if limited {
		t.head = append(t.head, "USED")
	}
	for _, m := range members {
		task := m.Task
		if m.Subject != "" {
			task += " " + m.Subject
		}
		waits := m.WaitsFor
		if m.State == orchestrator.Working && m.Doing != "" {
			waits = m.Doing
		}
		row := []cell{{text: m.Name}, {text: m.Agent}, {stateText(m, now), memberStyle(m.State)},
			{text: count(m.Turn)}, {text: count(m.Pass)}, {text: task}, {text: waits},
			{text: fmt.Sprint(m.Unread)}, {text: fmt.Sprint(m.Refusals)}}
		if limited {
			row = append(row, usedCell(m.Limits))
		}
		t.add(row...)
	}
	return t
}

// stateText is a member's state, with the time until which it stays so.
func stateText(m orchestrator.MemberStatus, now time.Time) string {
	if m.State == orchestrator.Limited {
		return string(m.State) + " until " + orchestrator.ShortTime(m.LimitedUntil.Local(), now)
	}
	return string(m.State)
}

// count is a number that counts from 1; 0 is none yet. A table says less with a
// 0 than with nothing there.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
