// Package ask holds the commands that ask a running team, or read the files of one
// that does not run: ps, tasks, send, inbox, review, merge, attach and others. Each
// command is one function. It makes no promise of compatibility to programs outside
// covey.
//
// A command asks the running team over its control socket. If no team runs it reads the store and the
// journal instead, so that what a team has done can be seen at any time; what only a running team can do
// fails with one line that says how to start it. A team that runs but does not answer is an error after
// ten seconds, and never a reason to read its files, which may be in the middle of a change.
//
// Each command prints a table or lines for people, and with --json what the team has answered. Errors
// name the thing and the way out. A command that changes something acts as the operator; from inside a
// member's tool it acts as that member, which the team finds out by itself.
package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Ps returns `covey ps`.
func Ps(env *cli.Env) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "Show what each member does and waits for",
		Long: `Show the team: for each member its agent, state, turn and pass, its task, what it
waits for, how many tasks it has completed in this run, unread mail, how often hooks
have refused it, its tokens in this run and its cost in all runs; then the schedules
with their next times, and the MCP servers with how many tools they have. If the team
does not run, show its last run and the result. A missed schedule runs with the next
covey up.`,
		Example: `  covey ps
  covey ps --all          # every team of this user
  covey ps --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				return psAll(env, asJSON)
			}
			place, err := env.Find()
			if err != nil {
				return err
			}
			status, err := readStatus(cmd.Context(), place)
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, status, func() { printStatus(env.Out, status, time.Now()) })
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list all teams of this user")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// readStatus asks the running team or, if none runs, reads its files. The output has
// the same form; a process knows more.
func readStatus(ctx context.Context, place state.Place) (api.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.AnswerWithin)
	defer cancel()
	return cli.Ask(ctx, place, func(c *api.Client) (api.Status, error) {
		return c.Status(ctx)
	}, func() (api.Status, error) { return filesStatus(ctx, place) })
}

// printStatus prints a team and its members. What fits into no column and must not be
// cut is printed below the table.
func printStatus(out *term.Screen, s api.Status, now time.Time) {
	out.Printf("%s\n", out.Paint(term.Bold, statusLine(s, now)))
	view.PrintBudget(out, s.Budget)
	if len(s.Members) > 0 {
		out.Printf("\n")
		memberTable(s.Members, now).Print(out)
	}
	// The texts are too long for a column, and must be read whole.
	for _, m := range s.Members {
		name := term.PlainLine(m.Name)
		switch {
		case m.Attention == "":
		case m.State == api.LoggedOut: // the text says what to do
			out.Printf("%s\n", out.Paint(term.Yellow, fmt.Sprintf("! %s: %s", name, term.PlainLine(m.Attention))))
		case m.State == api.Ended: // sending it a text does not help
			out.Printf("%s\n", out.Paint(term.Yellow, fmt.Sprintf("! %s takes no more turns: %s", name,
				term.PlainLine(m.Attention))))
			out.Printf("%s\n", out.Paint(term.Faint, fmt.Sprintf("  covey logs %s tells what happened; "+
				"the team's next start brings it back", name)))
		default:
			why := ": " + term.PlainLine(m.Attention)
			if s.PID == 0 && s.Result != nil && strings.Contains(s.Result.Reason, m.Attention) { // the first lines say it
				why = ""
			}
			out.Printf("%s\n", out.Paint(term.Yellow, fmt.Sprintf("! %s needs attention%s", name, why)))
			helps := "covey send " + name + " TEXT helps it on"
			if s.PID == 0 { // a team that does not run takes no text
				helps = "covey up lets it try again"
			}
			out.Printf("%s\n", out.Paint(term.Faint, fmt.Sprintf("  covey logs %s tells what happened; %s", name, helps)))
		}
	}
	for _, m := range s.Members {
		if m.FreshSessions > 0 {
			out.Printf("%s\n", out.Paint(term.Yellow, "! "+term.PlainLine(m.Name)+
				" works in a fresh session: the old one could not be opened"))
		}
	}
	printWorktrees(out, s.Members)
	printSchedules(out, s, now)
	printServers(out, s.Servers)
	if s.Requests > 0 {
		out.Printf("%s\n", out.Paint(term.Yellow, term.Plural(s.Requests, "question")+
			" for you: covey inbox shows and answers"))
	}
	view.PrintDenied(out, s.Spec, view.DeniedOf(s.Members))
	view.PrintHookTrouble(out, view.HooksOf(s.Members))
}

// statusLine summarizes a team in one line, and a result in a second one, which may
// be long. now is the time from which ages are computed.
func statusLine(s api.Status, now time.Time) string {
	tasks := ""
	if all := s.Tasks.Total(); all > 0 {
		tasks = fmt.Sprintf(" · %d of %d tasks done", s.Tasks.Completed, all)
	}
	head := term.PlainLine(s.Team) + " in " + term.PlainLine(s.Workspace)
	switch {
	case s.PID > 0 && !s.Up:
		return fmt.Sprintf("%s · starting (process %d)%s", head, s.PID, tasks)
	case s.PID > 0:
		return fmt.Sprintf("%s · running for %s (process %d)%s", head, term.Elapsed(now.Sub(s.Started)), s.PID, tasks)
	case s.Result == nil:
		return fmt.Sprintf("%s · not running; the last run was cut off, covey up continues it%s", head, tasks)
	}
	return fmt.Sprintf("%s · not running%s\nlast run: %s (code %d, %s ago)", head, tasks,
		term.PlainLine(s.Result.Reason), s.Result.ExitCode, term.Elapsed(now.Sub(s.Result.Ended)))
}

// memberTable is the table of `covey ps`; each column is declared only here. What a
// member does and what it waits for share a column, because it is never both.
func memberTable(members []api.MemberStatus, now time.Time) *term.Table {
	type member = api.MemberStatus
	has := func(what func(member) bool) bool { return slices.ContainsFunc(members, what) }
	return term.TableOf(members,
		term.Text("MEMBER", func(m member) string { return m.Name }),
		term.Text("AGENT", func(m member) string { return m.Agent }),
		term.Column[member]{Head: "STATE", Cell: func(m member) term.Cell {
			return term.Cell{Text: stateText(m, now), Style: view.MemberStyle(m.State)}
		}},
		term.Text("TURN", func(m member) string { return count(m.Turn) }),
		term.Text("PASS", func(m member) string { return count(m.Pass) }),
		term.Text("TASK", func(m member) string { return m.Task + " " + m.Subject }),
		term.Text("WAITS FOR", busyText),
		term.Text("DONE", func(m member) string { return fmt.Sprint(m.TasksDone) }),
		term.Text("UNREAD", func(m member) string { return fmt.Sprint(m.Unread) }),
		term.Text("REFUSALS", func(m member) string { return fmt.Sprint(m.Refusals) }),
		term.Column[member]{Head: "TOKENS", Hidden: !has(func(m member) bool { return m.Tokens > 0 }),
			Cell: func(m member) term.Cell { return term.Cell{Text: count(int(m.Tokens))} }},
		term.Column[member]{Head: "CONTEXT", Hidden: !has(func(m member) bool { return m.Context.Window > 0 }),
			Cell: func(m member) term.Cell { return view.ContextCell(m.Context) }},
		term.Column[member]{Head: "COST", Hidden: !has(func(m member) bool { return view.Dollars(m.CostUSD) != "" }),
			Cell: func(m member) term.Cell { return term.Cell{Text: view.Dollars(m.CostUSD)} }},
		term.Column[member]{Head: "USED", Hidden: !has(func(m member) bool { return len(m.Limits) > 0 }),
			Cell: func(m member) term.Cell { return view.UsedCell(m.Limits) }},
	)
}

// busyText returns what a member does, or what it waits for.
func busyText(m api.MemberStatus) string {
	if m.State == api.Working && m.Doing != "" {
		return m.Doing
	}
	return m.WaitsFor
}

// stateText returns a member's state, with the time until which it lasts.
func stateText(m api.MemberStatus, now time.Time) string {
	if m.State == api.Limited {
		return string(m.State) + " until " + notation.ShortTime(m.LimitedUntil.Local(), now)
	}
	return string(m.State)
}

// count formats a number that counts from 1; 0 gives an empty cell.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
