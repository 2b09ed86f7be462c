package merging

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// PullText returns the text of a pull request in Markdown: the work in its first line, then who
// made it, the evidence of its tasks, the hints about it, and the verdicts of gates.
//
// Subjects, evidence and commands come from members and specs. They are quoted so that they
// cannot format the text, name a person or an issue, or close an issue.
func PullText(m tasks.Merge, list []tasks.Task, verdicts []requests.Verdict, found []hints.Hint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", texts.MarkdownText(subject(m)))
	fmt.Fprintf(&b, "Made by %s in a covey team, branch %s.\n", texts.MarkdownText(m.Member), texts.MarkdownCode(m.Branch))
	if m.Result != "" {
		fmt.Fprintf(&b, "Its receipt is `%s`; `covey verify` checks it, before and after the merge.\n", receipts.Ref(m.Result))
	}
	for i, t := range list {
		for j, e := range t.Evidence {
			if i+j == 0 {
				b.WriteString("\n")
			}
			said, by := cmp.Or(texts.FirstLine(e.Text), e.File), cmp.Or(e.By, "covey")
			fmt.Fprintf(&b, "- evidence: %s (%s)\n", texts.MarkdownText(said), texts.MarkdownText(by))
		}
	}
	for i, h := range found {
		if i == 0 {
			b.WriteString("\nLook at this first:\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", texts.MarkdownText(h.String()))
	}
	if len(verdicts) == 0 {
		return b.String()
	}
	b.WriteString("\n| gate | verdict | tree | asked about | took |\n|-|-|-|-|-|\n")
	for _, v := range verdicts {
		said, tree := "refuses", ""
		if v.Pass {
			said = "agrees"
		}
		if v.Tree != "" {
			tree = texts.MarkdownCode(fmt.Sprintf("%.12s", v.Tree))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n",
			strings.ReplaceAll(texts.MarkdownCode(texts.FirstLine(v.Command)), "|", `\|`), said, tree, v.Moment,
			v.Duration.Round(time.Millisecond))
	}
	return b.String()
}
