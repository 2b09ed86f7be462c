package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// markdownHead begins a report in Markdown.
const markdownHead = "<!-- covey report -->"

// Bounds of a report in Markdown. GitHub accepts 65,536 characters in a pull request.
const (
	maxMarkdown = 60_000
	maxListed   = 100 // rows of the table of tasks
	maxRefusals = 30
)

// quoted returns a foreign text as one line of Markdown.
func quoted(text string) string { return texts.MarkdownText(text) }

// Markdown returns the report for a pull request or the summary of a CI job. Foreign texts in it
// are quoted, see texts.MarkdownText.
func (r *report) Markdown() string {
	var b strings.Builder
	s := r.State
	h := (&Drawing{State: s, Now: r.Now}).headline()
	fmt.Fprintf(&b, "%s\n## covey: team %s\n\n**%s**\n\n", markdownHead, quoted(s.Team), quoted(h.Words))
	if h.Run.Goal != "" {
		fmt.Fprintf(&b, "%s\n\n", quoted(h.Run.Goal))
	}
	h.summary(&b, s.Time.Sub(beginning(s)))
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "> %s\n\n", quoted(n))
	}
	for _, n := range h.Moved {
		fmt.Fprintf(&b, "> %s\n\n", quoted(n.Text))
	}
	if needs := s.Needs(); len(needs) > 0 {
		b.WriteString("### Needs you\n\n")
		for _, n := range needs[:min(len(needs), maxRefusals)] {
			fmt.Fprintf(&b, "- %s, %s: %s\n", quoted(termview.NeedWord(n)), quoted(n.Member), quoted(termview.NeedText(n)))
		}
		b.WriteString("\n")
	}
	for _, m := range s.Members {
		if text := termview.DeniedText(m.Done.Counts); text != "" {
			fmt.Fprintf(&b, "> %s %s\n\n", quoted(m.Name), quoted(text))
		}
	}
	r.taskTable(&b)
	r.refusals(&b)
	r.parts(&b)
	return b.String()
}

// summary writes the figures of the team.
func (h headline) summary(b *strings.Builder, lasted time.Duration) {
	turns := fmt.Sprint(h.Turns.Turns)
	if h.Turns.Completed > 0 {
		turns += fmt.Sprintf(" (%.1f a task)", h.Turns.PerTask)
	}
	b.WriteString("| tasks done | turns | empty | refused | tokens | cost | time |\n|-|-|-|-|-|-|-|\n")
	fmt.Fprintf(b, "| %d of %d | %s | %d | %d | %d | $%.2f | %s |\n\n", h.Done, h.All, turns,
		h.Turns.Empty, h.Refused, h.Tokens, h.CostUSD, term.Elapsed(lasted))
	for _, u := range h.Budget {
		fmt.Fprintf(b, "Budget: %s\n\n", u.BudgetUse)
	}
}

// taskTable writes a row for each task.
func (r *report) taskTable(b *strings.Builder) {
	all := shown(r.State)
	if len(all) == 0 {
		return
	}
	w := r.State.Works()
	b.WriteString("| task | state | owner | turns | empty | refused | cost |\n|-|-|-|-|-|-|-|\n")
	for _, t := range all[:min(len(all), maxListed)] {
		row := rowOf(r.State, w, t)
		if t.Unchanged {
			row.Word += ", no change"
		}
		if text := termview.MarksText(hints.Words(w.Hints(r.State, t))); text != "" {
			row.Word += " " + text
		}
		fmt.Fprintf(b, "| %s %s | %s | %s | %d | %d | %d | $%.2f |\n",
			quoted(t.ID), quoted(t.Subject), quoted(row.Word), quoted(t.Owner), t.Spent.Turns, row.Empty, t.Refusals, t.Spent.CostUSD)
	}
	if more := len(all) - maxListed; more > 0 {
		fmt.Fprintf(b, "\n%s: covey tasks\n", term.Plural(more, "more task"))
	}
	b.WriteString("\n")
}

// refuses reports whether a gate let nobody go on as before.
func refuses(g *view.Gate) bool { return g.Verdict == view.Refused || g.Verdict == view.Halted }

// refusal is what gates have refused for the same reason.
type refusal struct {
	last  *view.Gate
	times int
	turns []int // of the member, each once; empty at merges
}

// took matches how long something took, as tests print it. Reasons that differ in nothing else are
// the same.
var took = texts.Pattern(`\b\d+(?:\.\d+)?m?s\b`)

// grouped puts the refusals of one event, task and member for one reason together, in the order of the
// last of each.
func grouped(gates []*view.Gate) []*refusal {
	type key struct{ event, task, merge, member, reason string }
	var list []*refusal
	known := map[key]*refusal{}
	for _, g := range gates {
		k := key{g.Event, g.Task, g.Merge, g.Member, took().ReplaceAllString(g.Reason, "")}
		if known[k] == nil {
			known[k] = &refusal{}
			list = append(list, known[k])
		}
		one := known[k]
		one.last, one.times = g, one.times+1
		if g.Turn > 0 && !slices.Contains(one.turns, g.Turn) {
			one.turns = append(one.turns, g.Turn)
		}
	}
	slices.SortFunc(list, func(a, b *refusal) int { return cmp.Compare(a.last.First, b.last.First) })
	return list
}

// often returns how often a gate refused for the same reason, and in which turns; empty: once.
func (o *refusal) often() string {
	switch n := len(o.turns); {
	case o.times == 1:
		return ""
	case n == 0:
		return fmt.Sprintf(", %d times", o.times)
	case n == 1:
		return fmt.Sprintf(", %d times in turn %d", o.times, o.turns[0])
	default:
		return fmt.Sprintf(", %d times in %d turns from %d to %d", o.times, n, o.turns[0], o.turns[n-1])
	}
}

// refusals writes what gates have refused at turn ends and merges, the newest last.
func (r *report) refusals(b *strings.Builder) {
	list := grouped(r.State.GatesOf(refuses))
	if len(list) == 0 {
		return
	}
	b.WriteString("### What gates refused\n\n")
	newest, more := list[max(0, len(list)-maxRefusals):], 0
	for _, one := range list[:len(list)-len(newest)] {
		more += one.times
	}
	if more > 0 {
		fmt.Fprintf(b, "%s: covey report\n\n", term.Plural(more, "earlier refusal"))
	}
	for _, one := range newest {
		g := one.last
		fmt.Fprintf(b, "- %s", quoted(g.Event))
		if g.Task != "" {
			fmt.Fprintf(b, " of task %s", quoted(g.Task))
		}
		if g.Member != "" {
			fmt.Fprintf(b, ", %s", quoted(g.Member))
		}
		fmt.Fprintf(b, "%s: %s\n", one.often(), quoted(g.Reason))
	}
	b.WriteString("\n")
}

// parts writes for each finished task the text of its pull request, as far as there is room.
func (r *report) parts(b *strings.Builder) {
	w := r.State.Works()
	left := 0
	done := map[string]bool{}
	for _, t := range shown(r.State) {
		m := w.Merges[t.ID]
		if t.Status != tasks.Completed && m == nil || m != nil && done[m.ID] {
			continue
		}
		text := "### " + r.pullText(w, t, m) + "\n"
		if m != nil {
			done[m.ID] = true
		}
		if b.Len()+len(text) > maxMarkdown {
			left++
			continue
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(b, "%s without room here: covey report\n", term.Plural(left, "finished task"))
	}
}

// pullText returns the text of the pull request of a task, which may have none.
func (r *report) pullText(w view.Works, t *view.Task, m *view.Merge) string {
	work := tasks.Merge{Tasks: []string{t.ID}, Title: t.Subject, Member: t.Owner}
	list := []tasks.Task{t.Task}
	if m != nil {
		work, list = m.Merge, nil
		for _, id := range m.Tasks {
			if t := r.State.Task(id); t != nil {
				list = append(list, t.Task)
			}
		}
	}
	var verdicts []requests.Verdict
	gates := w.Gates[t.ID]
	for _, g := range gates[max(0, len(gates)-keptGates):] {
		moment := "task"
		if g.At == view.AtMerge {
			moment = "merge"
		}
		for _, h := range g.Hooks {
			v := h.Verdict()
			if h.Reused || v != view.Agreed && v != view.Refused {
				continue
			}
			verdicts = append(verdicts, requests.Verdict{
				VerdictKey: requests.VerdictKey{Tree: h.Tree}, Command: h.Command, Moment: moment, Pass: v == view.Agreed,
				Duration: time.Duration(h.DurationMS) * time.Millisecond,
			})
		}
	}
	return merging.PullText(work, list, verdicts, w.Hints(r.State, t))
}
