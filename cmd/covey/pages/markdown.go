package pages

import (
	"fmt"
	"strings"

	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// markdownHead begins a report in Markdown.
const markdownHead = "<!-- covey report -->"

// maxMarkdown is how many lines a report in Markdown has, however large the team is.
const maxMarkdown = 60

// quoted returns a foreign text as one line of Markdown.
func quoted(text string) string { return texts.MarkdownText(text) }

// Markdown returns the report for a pull request or the summary of a CI job. Foreign texts in it
// are quoted, see texts.MarkdownText.
func (r *report) Markdown() string {
	t := r.story()
	lines := []string{markdownHead, "## covey: team " + quoted(r.State.Team), "", "**" + quoted(t.Words) + "**: " + quoted(strings.Join(t.Facts, " · ")), ""}
	if t.Asked != "" {
		lines = append(lines, "Asked: "+quoted(t.Asked), "")
	}
	for _, n := range t.Notes {
		lines = append(lines, "> "+quoted(n), "")
	}
	parts := append(t.Parts, r.taskPart())
	rows := make([]int, len(parts)) // of each part
	free := maxMarkdown - len(lines)
	for _, p := range parts {
		free -= p.frame()
	}
	for gave := true; gave; { // a row to each in turn; what is left out takes a row, too
		gave = false
		for i, p := range parts {
			if rows[i] < len(p.Rows) && free > 0 {
				rows[i]++
				free--
				gave = true
			}
		}
	}
	for i, p := range parts {
		lines = append(lines, p.markdown(rows[i])...)
	}
	return strings.Join(lines, "\n") + "\n"
}

// frame returns how many lines a part has besides its rows.
func (p part) frame() int {
	switch {
	case len(p.Rows) == 0:
		return 0
	case p.Head != "":
		return 3
	}
	return 2
}

// markdown returns the part with so many of its rows. Those that are left out are counted in the place of
// the last one.
func (p part) markdown(rows int) []string {
	if len(p.Rows) == 0 {
		return nil
	}
	head := []string{"**" + p.Title + "**"}
	if p.Head != "" {
		head = strings.Split(p.Head, "\n")
	}
	var lines []string
	shown := p.Rows
	if len(shown) > rows {
		shown = shown[:max(rows-1, 0)]
	}
	for _, row := range shown {
		switch {
		case p.Head != "":
			lines = append(lines, "| "+row.Text+" |")
		case row.Word != "":
			lines = append(lines, "- **"+quoted(row.Word)+"** "+quoted(row.Text))
		default:
			lines = append(lines, "- "+quoted(row.Text))
		}
	}
	if more := len(p.Rows) - len(shown); more > 0 {
		text := fmt.Sprintf("%d more: `%s`", more, p.Rest)
		if p.Head != "" {
			text = "| " + text + strings.Repeat(" |", strings.Count(head[1], "|")-1)
		} else {
			text = "- " + text
		}
		lines = append(lines, text)
	}
	return append(append(head, lines...), "")
}

// taskPart returns the tasks as rows of a table: first those with marks and those that are not over.
func (r *report) taskPart() part {
	p := part{Head: "| task | state | owner | refused | sent back | cost |\n|-|-|-|-|-|-|", Rest: "covey tasks"}
	w := r.State.Works()
	var over []storyRow
	for _, t := range shown(r.State) {
		row := rowOf(r.State, w, t)
		marks := termview.MarksText(hints.Words(w.Hints(r.State, t)))
		if t.Unchanged {
			row.Word += ", no change"
		}
		one := storyRow{Text: fmt.Sprintf("%s %s | %s | %s | %d | %d | $%.2f", quoted(t.ID), quoted(texts.Short(t.Subject, maxSubject)),
			quoted(strings.TrimSpace(row.Word+" "+marks)), quoted(t.Owner), t.Refusals, t.SentBack, t.Spent.CostUSD)}
		if isOver(w, t) && marks == "" {
			over = append(over, one)
		} else {
			p.Rows = append(p.Rows, one)
		}
	}
	p.Rows = append(p.Rows, over...)
	return p
}

// maxSubject is how much of a task's subject a table has, in characters.
const maxSubject = 80

// isOver reports whether nothing is left to do about a task.
func isOver(w view.Works, t *view.Task) bool {
	m := w.Merges[t.ID]
	return t.Status == tasks.Completed && (m == nil || m.State.Over())
}
