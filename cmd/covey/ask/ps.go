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
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
)

// Ps returns `covey ps`.
func Ps(env *cli.Env) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "Show what each member does and waits for",
		Long: `Show the team: for each member its agent, state, turn and pass, its task, what it
waits for, how many tasks it has completed in this run, unread mail, how often hooks
have refused it, the level of the sandbox of its programs (1! lacks something), its
tokens in this run and its cost in all runs; then the schedules
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
	return cli.Ask(ctx, place, (*api.Client).Status, func() (api.Status, error) { return filesStatus(ctx, place) })
}

// printStatus prints a team and its members. What fits into no column and must not be
// cut is printed below the table.
func printStatus(out *term.Screen, s api.Status, now time.Time) {
	out.Printf("%s\n", out.Paint(term.Bold, statusLine(s, now)))
	view.PrintBudget(out, s.Budget)
	view.PrintBus(out, s.Bus)
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
			out.Printf("%s\n", out.Paint(view.MemberStyle(m.State), fmt.Sprintf("! %s needs attention%s", name, why)))
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
	for _, m := range s.Members {
		for _, words := range view.BoxWords(m) {
			out.Printf("%s\n", out.Paint(term.Yellow, "! "+term.PlainLine(m.Name)+": "+term.PlainLine(words)))
		}
	}
	for _, m := range s.Members { // a branch and a path fit into no column
		if m.Worktree != nil {
			out.Printf("%s\n", out.Paint(term.Faint, worktreeLine(m.Name, *m.Worktree)))
		}
	}
	printSchedules(out, s, now)
	printServers(out, s.Servers)
	if s.Requests > 0 {
		out.Printf("%s\n", out.Paint(term.Yellow, texts.Plural(s.Requests, "question")+
			" for you: covey inbox shows and answers"))
	}
	view.PrintTrouble(out, s.Spec, s.Members)
}

// statusLine summarizes a team in one line, and a result in a second one, which may
// be long. now is the time from which ages are computed.
func statusLine(s api.Status, now time.Time) string {
	tasks := ""
	for _, words := range view.CountWords(s.Tasks, s.Work) {
		tasks += " · " + words
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
	return term.TableOf(members,
		term.Text("MEMBER", func(m member) string { return m.Name }),
		term.Text("AGENT", func(m member) string { return m.Agent }),
		term.Text("NODE", func(m member) string { return m.Node }).IfAny(),
		term.Cells("STATE", func(m member) term.Cell {
			return term.Cell{Text: stateText(m, now), Style: view.MemberStyle(m.State)}
		}),
		term.Text("TURN", func(m member) string { return count(m.Turn) }),
		term.Text("PASS", func(m member) string { return count(m.Pass) }),
		term.Text("TASK", func(m member) string { return m.Task + " " + m.Subject }),
		term.Text("WAITS FOR", busyText),
		term.Text("DONE", func(m member) string { return fmt.Sprint(m.TasksDone) }),
		term.Text("UNREAD", func(m member) string { return fmt.Sprint(m.Unread) }),
		term.Text("REFUSALS", func(m member) string { return fmt.Sprint(m.Refusals) }),
		term.Text("TOKENS", func(m member) string { return count(int(m.Tokens)) }).IfAny(),
		term.Text("BOX", func(m member) string { return m.Box }).If(slices.ContainsFunc(members, view.IsBoxed)),
		term.Cells("CONTEXT", func(m member) term.Cell { return view.ContextCell(m.Context) }).
			If(slices.ContainsFunc(members, func(m member) bool { return m.Context.Window > 0 })),
		term.Text("COST", func(m member) string { return view.Dollars(m.CostUSD) }).IfAny(),
		term.Cells("USED", func(m member) term.Cell { return view.UsedCell(m.Limits) }).IfAny(),
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
		return string(m.State) + " until " + texts.ShortTime(m.LimitedUntil.Local(), now)
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

// psAll prints all teams of this user, the running ones first. Teams that ended stay
// in the list as long as their state exists.
func psAll(env *cli.Env, asJSON bool) error {
	places, err := state.All()
	if err != nil {
		return err
	}
	var running, others []cli.TeamInfo
	for _, p := range places {
		if env.Team != "" && p.Team != env.Team {
			continue
		}
		if info := cli.InfoOf(p); info.State == cli.TeamRunning {
			running = append(running, info)
		} else {
			others = append(others, info)
		}
	}
	// Within both lists the order is that of All.
	all := append(running, others...)
	if asJSON {
		return env.Out.JSON(append([]cli.TeamInfo{}, all...))
	}
	if len(all) == 0 {
		env.Out.Printf("no teams; covey up starts one\n")
		return nil
	}
	t := term.Table{Head: []string{"TEAM", "STATE", "PROCESS", "STARTED", "RESULT", "WORKSPACE"}}
	for _, info := range all {
		t.Add(teamCells(info)...)
	}
	t.Print(env.Out)
	return nil
}

// teamCells returns the row of a team. For a team that was cut off, the result column
// says what to do. Times are local; JSON has them with their zone.
func teamCells(i cli.TeamInfo) []term.Cell {
	state, started, result := term.Cell{Text: i.State}, "", i.Trouble
	switch i.State {
	case cli.TeamRunning:
		state.Style = term.Green
	case cli.TeamCutOff, cli.TeamDamaged:
		state.Style = term.Yellow
	}
	if !i.Started.IsZero() {
		started = i.Started.Local().Format("2006-01-02 15:04")
	}
	if i.Result != nil {
		result = fmt.Sprintf("%s (code %d)", i.Result.Reason, i.Result.ExitCode)
	}
	return []term.Cell{{Text: i.Team}, state, {Text: count(i.PID)}, {Text: started}, {Text: result},
		{Text: i.Workspace}}
}

// printSchedules lists the schedules and their times. While the team does not run
// nothing is triggered; missed schedules run when it is started.
func printSchedules(out *term.Screen, of api.Status, now time.Time) {
	if len(of.Schedules) == 0 {
		return
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return texts.ShortTime(t.Local(), now)
	}
	t := &term.Table{Head: []string{"SCHEDULE", "CRON", "NEXT", "LAST", "WHAT"}}
	for _, s := range of.Schedules {
		next := when(s.Next)
		if missed := !s.Next.IsZero() && s.Next.Before(now); missed && of.PID == 0 {
			next = "with covey up"
		}
		t.Add(term.Cell{Text: s.Name}, term.Cell{Text: s.Cron}, term.Cell{Text: next},
			term.Cell{Text: when(s.Last)}, term.Cell{Text: s.What})
	}
	out.Printf("\n")
	t.Print(out)
}

// printServers prints the MCP servers of a spec, if it has any.
func printServers(out *term.Screen, servers []api.ServerStatus) {
	if len(servers) == 0 {
		return
	}
	out.Printf("\n")
	term.TableOf(servers,
		term.Text("MCP SERVER", func(s api.ServerStatus) string { return s.Name }),
		term.Text("STATE", func(s api.ServerStatus) string { return string(s.State) }),
		term.Text("TOOLS", func(s api.ServerStatus) string { return count(s.Tools) }),
		term.Text("WHY", func(s api.ServerStatus) string { return s.Why }),
	).Print(out)
}

// worktreeLine describes a member's working copy in one line.
func worktreeLine(member string, w workcopies.Status) string {
	parts := []string{term.PlainLine(member) + " works in " + term.PlainLine(w.Path)}
	if w.Branch != "" {
		parts = append(parts, "branch "+term.PlainLine(w.Branch))
	}
	return strings.Join(append(parts, view.CopyWords(w)...), " · ")
}

// filesStatus returns the status of a team that does not run, from its files. It
// leaves empty what only a process knows: the pass of the current turn, what a member
// does, who is attached. What the journal knows comes from view.ReadLastRun; what the store
// knows, such as tasks and unread mail, is read here. A run that was cut off has no result.
func filesStatus(ctx context.Context, place state.Place) (api.Status, error) {
	file, err := state.ReadRunFile(place)
	if errors.Is(err, fs.ErrNotExist) {
		return api.Status{}, fmt.Errorf("team %s never came up; covey up starts it", place.Team)
	}
	if err != nil {
		return api.Status{}, err
	}
	// A run that only merged may have put the record of the last full run aside; that one
	// is what people ask for.
	file = file.LastRun()
	run, err := view.ReadLastRun(place)
	if err != nil {
		return api.Status{}, err
	}
	s := api.Status{
		Team: place.Team, Goal: file.Goal, Workspace: file.Workspace, Spec: file.Spec,
		Started: file.Started, Nodes: run.NodeStatus(), FailOpen: run.Hooks().FailedOpen(), Budget: run.BudgetAt(run.Time), Result: file.Result, Turns: run.StaffedRun().Turns,
	}
	if file.Result != nil {
		s.Elapsed = max(0, file.Result.Ended.Sub(file.Started)).Round(time.Millisecond)
	}
	store, err := cli.OpenStore(place)
	if err != nil {
		return s, err
	}
	defer store.Close()
	snapshot, err := store.Snapshot(ctx)
	if err == nil {
		s.Schedules, err = specs.StoredSchedules(ctx, store)
	}
	var held []string
	if err == nil {
		held, err = members.HeldIn(ctx, store)
	}
	var merges []tasks.Merge
	if err == nil {
		merges, err = store.Merges().List(ctx)
	}
	if err != nil {
		return s, err
	}
	// Tasks and mail are from one snapshot of the store, so their numbers agree.
	all := tasks.Outlines(snapshot.Tasks)
	s.Tasks = api.CountTasks(all)
	newest := map[string]tasks.MergeState{}
	for _, m := range merges {
		for _, id := range m.Tasks {
			newest[id] = m.State
		}
	}
	s.Work = api.CountWork(maps.Values(newest))
	s.Work.SentBack = run.WorkCounts().SentBack
	owned := api.OwnedTasks(all)
	for _, m := range run.Statuses() {
		m.Unread = snapshot.Unread[m.Name]
		if slices.Contains(held, m.Name) {
			m.Held, m.State, m.WaitsFor = true, api.Held, "covey resume "+m.Name
		}
		m.SetTask(owned[m.Name], all)
		s.Members = append(s.Members, m)
	}
	return s, nil
}
