package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/tasks"
)

// tasksCommand is `covey tasks`; alone it lists. The flags of the list work
// without its name, too.
func (c *cli) tasksCommand() *cobra.Command {
	list := c.tasksListCommand()
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "List, show, create, change and claim the team's tasks",
		Long: `The team's task list. Without a command it lists the tasks. Listing, showing and
drawing work without a running team, too; changing needs one, since its hooks
have a say.`,
		Example: `  covey tasks
  covey tasks show 3
  covey tasks create "Fix the login" --owner backend --blocked-by 2
  covey tasks update 3 --status completed
  covey tasks claim 4 --as docs
  covey tasks graph --mermaid`,
		Args: noArgs,
		RunE: list.RunE,
	}
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, c.tasksShowCommand(), c.tasksCreateCommand(), c.tasksUpdateCommand(),
		c.tasksClaimCommand(), c.tasksGraphCommand())
	return cmd
}

// tasksListCommand is `covey tasks list`. What a task waits for is worked out
// from all tasks, whichever of them are shown.
func (c *cli) tasksListCommand() *cobra.Command {
	var status, owner string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tasks",
		Example: `  covey tasks list
  covey tasks list --status pending --owner backend
  covey tasks list --json | jq '.[].subject'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkStatus(status, false); err != nil {
				return err
			}
			place, err := c.find()
			if err != nil {
				return err
			}
			left := func(has tasks.Status, of string) bool {
				return status != "" && string(has) != status || owner != "" && of != owner
			}
			if asJSON {
				all, err := readTasks(cmd.Context(), place)
				if err != nil {
					return err
				}
				list := slices.DeleteFunc(all, func(t tasks.Task) bool { return left(t.Status, t.Owner) })
				return c.out.json(taskViews(list))
			}
			all, err := readOutline(cmd.Context(), place)
			if err != nil {
				return err
			}
			c.printTasks(slices.DeleteFunc(slices.Clone(all), func(t tasks.Outline) bool {
				return left(t.Status, t.Owner)
			}), all)
			return nil
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only tasks that are `STATUS`: pending, in_progress or completed")
	cmd.Flags().StringVar(&owner, "owner", "", "only tasks of `MEMBER`")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// checkStatus refuses a status that a task cannot have; empty is none. It is
// checked here, before a team is asked, so that the error is one of usage.
func checkStatus(status string, deleting bool) error {
	known := []string{string(tasks.Pending), string(tasks.InProgress), string(tasks.Completed)}
	if deleting {
		known = append(known, "deleted")
	}
	if status == "" || slices.Contains(known, status) {
		return nil
	}
	return usagef("--status %s: use %s", status, strings.Join(known, ", "))
}

// printTasks prints a list of tasks, some or all of all, as a table.
func (c *cli) printTasks(list, all []tasks.Outline) {
	if len(list) == 0 {
		c.out.printf("no tasks\n")
		return
	}
	t := table{head: []string{"ID", "STATUS", "OWNER", "WAITS FOR", "SUBJECT"}}
	for _, task := range list {
		t.add(cell{text: task.ID}, cell{string(task.Status), statusStyle(task.Status)}, cell{text: task.Owner},
			cell{text: strings.Join(task.OpenBlockers(all), ", ")}, cell{text: task.Subject})
	}
	t.print(c.out)
}

// tasksShowCommand is `covey tasks show ID`.
func (c *cli) tasksShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one task with all that is known of it, what its gates said too",
		Example: "  covey tasks show 3",
		Args:    argCount(1, 1, "the id of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := c.find()
			if err != nil {
				return err
			}
			all, err := readTasks(cmd.Context(), place)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(all, func(t tasks.Task) bool { return t.ID == taskID(args[0]) })
			if i < 0 {
				return fmt.Errorf("there is no task %q; covey tasks lists them", args[0])
			}
			standing, err := readStanding(cmd.Context(), place, all[i].ID)
			if err != nil {
				return err
			}
			if asJSON {
				return c.out.json(shownTask{viewTask(all[i]), standing})
			}
			c.showTask(shownTask{all[i], standing}, all)
			return nil
		},
		ValidArgsFunction: c.completeTask,
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// waitsFor are the ids of the tasks that a task still waits for.
func waitsFor(task tasks.Task, all []tasks.Task) []string {
	return (&tasks.Outline{BlockedBy: task.BlockedBy}).OpenBlockers(tasks.Outlines(all))
}

// taskID is the id that somebody writes for a task: 7, or #7 as messages name it.
func taskID(text string) string { return strings.TrimPrefix(text, "#") }

// taskIDs is taskID of each.
func taskIDs(list []string) []string {
	ids := make([]string, len(list))
	for i, text := range list {
		ids[i] = taskID(text)
	}
	return ids
}

// showTask prints all that is known of a task. Fields that are empty are left
// out, but for the epoch, which scripts compare.
func (c *cli) showTask(task shownTask, all []tasks.Task) {
	line := func(label, text string) {
		if text != "" {
			c.out.printf("%s %s\n", c.out.paint(faint, padded(label, 12)), text)
		}
	}
	c.out.printf("%s\n", c.out.paint(bold, "task "+plainLine(task.ID)+": "+plainLine(task.Subject)))
	line("status", c.out.paint(statusStyle(task.Status), string(task.Status)))
	line("owner", plainLine(task.Owner))
	line("blocked by", plainLine(strings.Join(task.BlockedBy, ", ")))
	line("waits for", plainLine(strings.Join(waitsFor(task.Task, all), ", ")))
	for _, r := range task.Requests {
		line("awaits", plainLine(orchestrator.Awaited(r)+" ("+r.ID+"; covey inbox show "+r.ID+")"))
	}
	line("blocks", plainLine(strings.Join(task.Blocks, ", ")))
	line("labels", plainLine(strings.Join(task.Labels, ", ")))
	line("wants tools", plainLine(strings.Join(task.Wants.Tools, ", ")))
	line("wants labels", plainLine(strings.Join(task.Wants.Labels, ", ")))
	line("wants role", plainLine(task.Wants.Role))
	line("epoch", fmt.Sprint(task.Epoch))
	for _, key := range sortedKeys(task.Metadata) {
		line("metadata", plainLine(key+" = "+string(task.Metadata[key])))
	}
	for _, e := range task.Evidence {
		line("evidence", evidenceLine(e))
	}
	for _, v := range task.Verdicts {
		line("gate", c.verdictText(v))
		if !v.Pass && v.Feedback != "" {
			c.out.printf("%s\n", indented(v.Feedback))
		}
	}
	for _, m := range task.Merges {
		line("merge", c.out.paint(mergeStyle(m.State), plainLine(mergeState(m)+because(m))))
	}
	if task.Unchanged {
		line("merge", "none: it was completed without a change")
	}
	if task.Description != "" {
		c.out.printf("\n%s\n", plain(strings.TrimRight(task.Description, "\n")))
	}
}

// tasksGraphCommand is `covey tasks graph`. --json gives the tasks themselves:
// their links are the graph.
func (c *cli) tasksGraphCommand() *cobra.Command {
	var mermaid, asJSON bool
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw which task waits for which",
		Example: `  covey tasks graph
  covey tasks graph --mermaid >> PLAN.md`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := c.find()
			if err != nil {
				return err
			}
			if asJSON {
				list, err := readTasks(cmd.Context(), place)
				if err != nil {
					return err
				}
				return c.out.json(taskViews(list))
			}
			list, err := readOutline(cmd.Context(), place)
			if err != nil {
				return err
			}
			switch {
			case mermaid:
				c.out.printf("%s", taskMermaid(list))
			case len(list) == 0:
				c.out.printf("no tasks\n")
			default:
				c.out.printf("%s\n", strings.Join(taskTree(c.out, list), "\n"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&mermaid, "mermaid", false, "print a Mermaid flowchart, for Markdown")
	jsonFlag(cmd, &asJSON)
	return cmd
}
