package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// Tasks returns `covey tasks`, which by itself lists the tasks. It has the flags of
// the list, too.
func Tasks(env *cli.Env) *cobra.Command {
	list := tasksListCommand(env)
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "List, show, create, change and claim the team's tasks",
		Long: `List the team's tasks, or change them with one of the commands below. Listing,
showing and drawing also work without a running team. Changes need a running team,
because its hooks and gates apply to them.`,
		Example: `  covey tasks
  covey tasks show 3
  covey tasks create "Fix the login" --owner backend --blocked-by 2
  covey tasks update 3 --status completed
  covey tasks claim 4 --as docs
  covey tasks graph --mermaid`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isTaskID(args[0]) {
				return cli.Usagef("covey tasks lists the tasks; `covey tasks show %s` shows one", taskID(args[0]))
			}
			return cli.NoArgs(cmd, args)
		},
		PreRunE: list.PreRunE,
		RunE:    list.RunE,
	}
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, tasksShowCommand(env), tasksCreateCommand(env), tasksUpdateCommand(env),
		tasksClaimCommand(env), tasksGraphCommand(env))
	return cmd
}

// tasksListCommand returns `covey tasks list`. What a task waits for is computed from
// all tasks, even if some are not shown.
func tasksListCommand(env *cli.Env) *cobra.Command {
	var status, owner string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tasks",
		Example: `  covey tasks list
  covey tasks list --status pending --owner backend
  covey tasks list --json | jq '.[].subject'`,
		Args:    cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return checkStatus(status, false) },
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, _ []string) error {
			// One filter for both forms: people get an outline, which is quick to read;
			// JSON has the whole tasks.
			skip := func(has tasks.Status, of string) bool {
				return status != "" && string(has) != status || owner != "" && of != owner
			}
			if asJSON {
				all, err := cli.ReadTasks(ctx, place)
				if err != nil {
					return err
				}
				list := slices.DeleteFunc(all, func(t tasks.Task) bool { return skip(t.Status, t.Owner) })
				return env.Out.JSON(taskViews(list))
			}
			all, err := cli.ReadOutline(ctx, place)
			if err != nil {
				return err
			}
			printTasks(env.Out, slices.DeleteFunc(slices.Clone(all), func(t tasks.Outline) bool {
				return skip(t.Status, t.Owner)
			}), all)
			return nil
		}),
	}
	cmd.Flags().StringVar(&status, "status", "", "only tasks that are `STATUS`: pending, in_progress or completed")
	cmd.Flags().StringVar(&owner, "owner", "", "only tasks of `MEMBER`")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// checkStatus rejects an unknown status; empty is allowed. It is called before a team
// is asked, so that the error is a usage error.
func checkStatus(status string, deleting bool) error {
	known := []string{string(tasks.Pending), string(tasks.InProgress), string(tasks.Completed)}
	if deleting {
		known = append(known, "deleted")
	}
	if status == "" || slices.Contains(known, status) {
		return nil
	}
	return cli.Usagef("--status %s: use %s", status, strings.Join(known, ", "))
}

// printTasks prints a list of tasks, which is all or a part of all, as a table.
func printTasks(out *term.Screen, list, all []tasks.Outline) {
	if len(list) == 0 {
		out.Printf("no tasks\n")
		return
	}
	term.TableOf(list,
		term.Text("ID", func(t tasks.Outline) string { return t.ID }),
		term.Cells("STATUS", func(t tasks.Outline) term.Cell {
			text := string(t.Status)
			if t.Unchanged {
				text += ", no change"
			}
			return term.Cell{Text: text, Style: statusStyle(t.Status)}
		}),
		term.Text("OWNER", func(t tasks.Outline) string { return t.Owner }),
		term.Text("WAITS FOR", func(t tasks.Outline) string { return strings.Join(t.OpenBlockers(all), ", ") }),
		term.Text("TOKENS", func(t tasks.Outline) string { return tokensOf(t.Cost) }).IfAny(),
		term.Text("COST", func(t tasks.Outline) string { return view.Dollars(t.Cost.USD) }).IfAny(),
		term.Text("SUBJECT", func(t tasks.Outline) string { return t.Subject }),
	).Print(out)
}

// tasksShowCommand returns `covey tasks show ID`.
func tasksShowCommand(env *cli.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one task in full",
		Long: `Show one task in full: also why hooks last refused its completion, and the stored
verdicts of its gates, which are stored for work in a working copy. Its tokens are
those of the model requests that its owner made while it was in progress; several
tasks in progress share them equally. The epoch
rises with every claim, release and resumption of the task; an update for an older
epoch is refused. covey logs MEMBER shows why Stop and TeammateIdle hooks refused to
end a turn.`,
		Example: "  covey tasks show 3",
		Args:    cli.ArgCount(1, 1, "the id of a task"),
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			all, err := cli.ReadTasks(ctx, place)
			if err != nil {
				return err
			}
			// All tasks are read, because what the task waits for is computed from the
			// others.
			i := slices.IndexFunc(all, func(t tasks.Task) bool { return t.ID == taskID(args[0]) })
			if i < 0 {
				return fmt.Errorf("there is no task %q; covey tasks lists them", args[0])
			}
			standing, err := readStanding(ctx, place, all[i].ID)
			if err != nil {
				return err
			}
			refusals, err := view.ReadRefusals(place, all[i].ID)
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, shownTask{viewTask(all[i]), standing, refusals}, func() {
				showTask(env.Out, shownTask{all[i], standing, refusals}, all)
			})
		}),
		ValidArgsFunction: env.CompleteTask,
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// taskID returns the id in what somebody writes for a task: 7, or #7 as in messages.
func taskID(text string) string { return strings.TrimPrefix(text, "#") }

// taskIDs applies taskID to a list.
func taskIDs(list []string) []string {
	ids := make([]string, len(list))
	for i, text := range list {
		ids[i] = taskID(text)
	}
	return ids
}

// showTask prints everything about a task. Empty fields are left out, except the
// epoch, which scripts compare.
func showTask(out *term.Screen, task shownTask, all []tasks.Task) {
	line := func(label, text string) {
		if text != "" {
			out.Printf("%s %s\n", out.Paint(term.Faint, term.Padded(label, 12)), text)
		}
	}
	out.Printf("%s\n", out.Paint(term.Bold, "task "+term.PlainLine(task.ID)+": "+term.PlainLine(task.Subject)))
	line("status", out.Paint(statusStyle(task.Status), string(task.Status)))
	line("owner", term.PlainLine(task.Owner))
	line("blocked by", term.PlainLine(strings.Join(task.BlockedBy, ", ")))
	line("waits for", term.PlainLine(strings.Join((&tasks.Outline{BlockedBy: task.BlockedBy}).OpenBlockers(tasks.Outlines(all)), ", ")))
	for _, r := range task.Requests {
		line("awaits", term.PlainLine(inbox.Awaited(r)+" ("+r.ID+"; covey inbox show "+r.ID+")"))
	}
	line("blocks", term.PlainLine(strings.Join(task.Blocks, ", ")))
	line("labels", term.PlainLine(strings.Join(task.Labels, ", ")))
	line("wants tools", term.PlainLine(strings.Join(task.Wants.Tools, ", ")))
	line("wants labels", term.PlainLine(strings.Join(task.Wants.Labels, ", ")))
	line("wants role", term.PlainLine(task.Wants.Role))
	line("epoch", fmt.Sprint(task.Epoch))
	line("tokens", tokensOf(task.Cost))
	line("cost", view.Dollars(task.Cost.USD))
	for _, key := range slices.Sorted(maps.Keys(task.Metadata)) {
		line("metadata", term.PlainLine(key+" = "+string(task.Metadata[key])))
	}
	for _, e := range task.Evidence {
		line("evidence", evidenceLine(e))
	}
	for _, v := range task.Verdicts {
		line("gate", verdictText(out, v))
		if !v.Pass && v.Feedback != "" {
			out.Printf("%s\n", indented(v.Feedback))
		}
	}
	if n := len(task.Refusals); n > 0 {
		last := task.Refusals[n-1]
		line("refused", refusalText(n, last))
		out.Printf("%s\n", indented(last.Text))
	}
	for _, m := range task.Merges {
		line("merge", out.Paint(view.MergeStyle(m.State), term.PlainLine(view.MergeState(m)+view.Because(m))))
	}
	if task.Unchanged {
		line("merge", "no change: it was completed without one")
	}
	if task.Description != "" {
		out.Printf("\n%s\n", term.Plain(strings.TrimRight(task.Description, "\n")))
	}
}

// refusalText returns how often hooks have refused a task's completion, and when last.
func refusalText(n int, last view.Refusal) string {
	times := ""
	if n > 1 {
		times = fmt.Sprintf("%d times, last ", n)
	}
	whose := "when the operator wanted to complete it"
	if last.Member != "" {
		whose = fmt.Sprintf("in turn %d of %s", last.Turn, last.Member)
	}
	return term.PlainLine(times + whose + " at " + texts.ShortTime(last.Time.Local(), time.Now()))
}

// tasksGraphCommand returns `covey tasks graph`. --json prints the tasks themselves,
// whose links are the graph.
func tasksGraphCommand(env *cli.Env) *cobra.Command {
	var mermaid, asJSON bool
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw the dependencies between tasks",
		Example: `  covey tasks graph
  covey tasks graph --mermaid >> PLAN.md`,
		Args: cli.NoArgs,
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, _ []string) error {
			if asJSON {
				list, err := cli.ReadTasks(ctx, place)
				if err != nil {
					return err
				}
				return env.Out.JSON(taskViews(list))
			}
			list, err := cli.ReadOutline(ctx, place)
			if err != nil {
				return err
			}
			switch {
			case mermaid:
				env.Out.Printf("%s", taskMermaid(list))
			case len(list) == 0:
				env.Out.Printf("no tasks\n")
			default:
				env.Out.Printf("%s\n", strings.Join(taskTree(env.Out, list), "\n"))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&mermaid, "mermaid", false, "print a Mermaid flowchart, for Markdown")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// viewTask returns a task as --json prints it: empty lists and metadata are [] and
// {}, not null.
func viewTask(t tasks.Task) tasks.Task {
	t.Blocks, t.BlockedBy, t.Labels = notNil(t.Blocks), notNil(t.BlockedBy), notNil(t.Labels)
	if t.Metadata == nil {
		t.Metadata = map[string]json.RawMessage{}
	}
	return t
}

// notNil returns a list that is not null in JSON.
func notNil(list []string) []string { return append([]string{}, list...) }

// taskViews applies viewTask to a list. The result is never nil, so that it encodes
// as [].
func taskViews(list []tasks.Task) []tasks.Task {
	views := make([]tasks.Task, 0, len(list))
	for _, t := range list {
		views = append(views, viewTask(t))
	}
	return views
}

// tokensOf formats the tokens that a task has used; empty: none.
func tokensOf(c tasks.Cost) string {
	switch {
	case c.Tokens == 0:
		return ""
	case c.FailedTokens > 0:
		return fmt.Sprintf("%d (%d failed)", c.Tokens, c.FailedTokens)
	}
	return fmt.Sprint(c.Tokens)
}

// evidenceLine formats a piece of evidence in one line, with its author.
func evidenceLine(e tasks.Evidence) string {
	parts := []string{e.Text, e.File}
	if e.Text == "" || e.File == "" {
		parts = []string{e.Text + e.File}
	}
	by := e.By
	if by == "" {
		by = "covey"
	}
	return term.PlainLine(strings.Join(parts, " · ") + " (" + by + ")")
}

// shownTask is a task as `tasks show --json` prints it: with the verdicts of its
// gates, the state of its work, and why hooks have refused its completion. The task's own
// fields stay where scripts look for them.
type shownTask struct {
	tasks.Task
	api.Standing
	Refusals []view.Refusal `json:"refusals"`
}

// readStanding asks the running team for the standing of a task, or reads the store
// of a team that does not run.
func readStanding(ctx context.Context, place state.Place, task string) (api.Standing, error) {
	return cli.AskStore(ctx, place, cli.With((*api.Client).Standing, task),
		func(s *tasks.Store, ctx context.Context) (api.Standing, error) {
			return merging.StandingOf(ctx, s, task)
		})
}

// verdictText formats a gate's verdict in one line. It names the tree, because the
// same gate may decide differently about other files.
func verdictText(out *term.Screen, v requests.Verdict) string {
	said, how := "refuses", term.Red
	if v.Pass {
		said, how = "agrees", term.Green
	}
	return out.Paint(how, said) + " " +
		term.PlainLine(fmt.Sprintf("%s (tree %.10s, %s, %s)", v.Command, v.Tree, v.Moment, term.Elapsed(v.Duration)))
}
