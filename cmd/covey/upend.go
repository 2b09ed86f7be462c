package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/ask"
	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	facts "github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// printReport prints how a run ended: the lead's last answer, why it ended, what each
// member did, and what needs the operator. The answer comes first, because the team
// was started for it.
//
// What needs the operator comes last, because that is what stays on the screen.
func printReport(out *term.Screen, team string, e orchestrator.Ending, run *facts.State) {
	if answer := strings.TrimSpace(term.Plain(e.Answer)); answer != "" {
		out.Printf("\n%s\n", answer)
	}
	out.Printf("\n")
	sentences := []string{endLine(team, e)}
	if out.TTY() {
		sentences = strings.Split(sentences[0], "; ")
	}
	out.Line(term.Bold, sentences[0])
	for _, more := range sentences[1:] {
		out.Note(term.Bold, more)
	}
	for _, line := range e.Merged {
		out.Line(term.Normal, line)
	}
	for _, line := range e.Moved {
		if !slices.ContainsFunc(e.Problems, func(p string) bool { return strings.HasPrefix(p, line) }) {
			out.Printf("%s\n", out.Paint(term.Yellow, term.PlainLine(line)))
		}
	}
	view.PrintBudget(out, e.Budget)
	if len(e.Members) > 0 {
		out.Printf("\n")
		table := endTable(e.Members)
		table.Whole = true
		table.Print(out)
	}
	if line := turnsLine(e.Turns); line != "" {
		out.Line(term.Faint, line)
	}
	if spent := coordinationLine(e.Coordination); spent != "" {
		out.Line(term.Faint, spent)
	}
	for _, problem := range e.Problems {
		// A cause that the first line has is not said again.
		if _, why, ok := strings.Cut(problem, ": "); !ok || !strings.Contains(e.Reason, why) {
			out.Line(term.Yellow, "! "+problem)
		}
	}
	for _, t := range run.Tasks {
		if t.Unchanged && t.Status == tasks.Completed {
			out.Line(term.Yellow, "no change: task "+t.ID+" ("+t.Subject+") was completed without one")
		}
	}
	ask.PrintUnmerged(out, e.Unmerged)
	view.PrintTrouble(out, run.Run().Spec, view.TroubleIn(run))
}

// turnsLine returns how many turns the tasks took; empty if no task was completed and no
// turn was empty.
func turnsLine(n events.TurnCount) string {
	if n.Turns == 0 || n.Completed == 0 && n.Empty == 0 {
		return ""
	}
	line := "turns: " + fmt.Sprint(n.Turns)
	if n.Completed > 0 {
		line += fmt.Sprintf(" for %s (%.1f each)", texts.Plural(n.Completed, "completed task"), n.PerTask)
	}
	if n.Empty > 0 {
		return line + fmt.Sprintf(", %d of them empty", n.Empty)
	}
	return line + ", none empty"
}

// coordinationLine returns what it cost to keep the lead informed; empty if that is
// nothing or the lead's usage is unknown.
func coordinationLine(c events.Coordination) string {
	if c.Tokens == 0 || c.Of == 0 {
		return ""
	}
	line := fmt.Sprintf("coordination: about %d of the lead's %d tokens (%.1f %%)", c.Tokens, c.Of, 100*c.Share())
	if c.Finished > 0 {
		tokens, _ := c.PerTask()
		line += fmt.Sprintf(", %d per finished task", tokens)
	}
	return line
}

// endLine summarizes an ending in one line. It begins with the team's name, so that
// logs of several teams can be told apart.
func endLine(team string, e orchestrator.Ending) string {
	line := fmt.Sprintf("%s: %s", team, term.PlainLine(e.Reason))
	counts := api.TaskCounts{
		Pending: e.Tasks[tasks.Pending], InProgress: e.Tasks[tasks.InProgress], Completed: e.Tasks[tasks.Completed],
	}
	for _, words := range view.CountWords(counts, e.Work) {
		line += " · " + words
	}
	return line + " · " + term.Elapsed(e.Elapsed) + faultMark(e.Fault())
}

// faultMark returns the code of a fault as the end of a line shows it.
func faultMark(f orchestrator.Fault) string {
	if f == "" {
		return ""
	}
	return " [" + string(f) + "]"
}

// withFault adds its code to an error that ends a team. Other errors carry their own code:
// wrong usage, a spec with mistakes, a team that is not trusted, and the end of a run.
func withFault(err error) error {
	var end *cli.EndError
	if err == nil || errors.As(err, &end) || errors.Is(err, cli.ErrUsage) || errors.Is(err, cli.ErrNotTrusted) {
		return err
	}
	return fmt.Errorf("%w%s", err, faultMark(orchestrator.FaultOf(err)))
}

// endTable lists what each member did, including those that did nothing.
func endTable(members []orchestrator.MemberEnding) *term.Table {
	type member = orchestrator.MemberEnding
	return term.TableOf(members,
		term.Text("MEMBER", func(m member) string { return m.Name }),
		term.Text("AGENT", func(m member) string { return m.Agent }),
		term.Cells("STATE", func(m member) term.Cell {
			return term.Cell{Text: string(m.State), Style: view.MemberStyle(m.State)}
		}),
		term.Text("TURNS", func(m member) string { return fmt.Sprint(m.Turns) }),
		term.Text("PASSES", func(m member) string { return fmt.Sprint(m.Passes) }),
		term.Text("TASKS DONE", func(m member) string {
			completed := slices.Clone(m.Completed)
			slices.SortFunc(completed, func(x, y string) int { return taskNumber(x) - taskNumber(y) })
			return strings.Join(completed, ", ")
		}),
		term.Text("REFUSALS", func(m member) string { return fmt.Sprint(m.Refusals) }),
		term.Text("TOKENS", tokensText),
		term.Text("COST", func(m member) string { return fmt.Sprintf("$%.2f", m.CostUSD) }).
			If(slices.ContainsFunc(members, func(m member) bool { return m.CostUSD > 0 })),
		term.Cells("USED", func(m member) term.Cell { return view.UsedCell(m.Limits) }).IfAny(),
	)
}

// taskNumber returns a task id as a number, for ordering. Ids that are not numbers
// come last, in undefined order.
func taskNumber(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return 1 << 30
	}
	return n
}

// tokensText formats what a member has used. No report does not mean no usage.
func tokensText(m orchestrator.MemberEnding) string {
	switch {
	case m.TokensUnknown && m.Tokens == 0:
		return "unknown"
	case m.TokensUnknown:
		return fmt.Sprintf("%d+", m.Tokens)
	}
	if m.FailedTokens > 0 {
		return fmt.Sprintf("%d (%d failed)", m.Tokens, m.FailedTokens)
	}
	return fmt.Sprint(m.Tokens)
}

// endHint returns what to do next; empty after a run that is done. A run that had
// nothing to do has the same code, so it is checked first. Nobody can continue a CI job.
func endHint(e orchestrator.Ending, job bool) string {
	switch {
	case job && e.Code != orchestrator.CodeDone:
		return "junit.xml and result.json have what gates said; the next job begins anew."
	case e.AlreadyDone:
		return "Give it another goal, or start over with --fresh."
	case e.Code == orchestrator.CodeInterrupted:
		return "covey up continues it where it stopped."
	case e.Fault() == orchestrator.FaultStuck, e.Fault() == orchestrator.FaultAttention:
		return "covey logs MEMBER tells what happened, covey tasks graph what waits for what, " +
			"covey inbox what waits for you; covey up continues it, and covey up --fresh starts over."
	case e.Code != orchestrator.CodeDone:
		return "covey logs MEMBER tells what happened, covey tasks graph what waits for what; " +
			"covey up continues it."
	}
	return ""
}
