package board

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/view"
)

// setDrafts replaces the drafts below the rows. A draft whose text has come from the journal
// since the team has sent it is not shown again.
func (g *rowLog) setDrafts(now members.Drafting) {
	g.drafts = nil
	for _, d := range now.Drafts {
		if e, ok := termview.DraftOf(d); ok && g.said[author{d.Member, d.Helper}] <= now.Seq {
			g.drafts = append(g.drafts, shownDraft{author{d.Member, d.Helper}, e})
		}
	}
}

// endDraft removes the draft whose text a row has.
func (g *rowLog) endDraft(r *logRow) {
	if r.writer == (author{}) {
		return
	}
	if g.said == nil {
		g.said = map[author]uint64{}
	}
	g.said[r.writer] = r.seq
	g.drafts = slices.DeleteFunc(g.drafts, func(d shownDraft) bool { return d.by == r.writer })
}

// author is a member, or a member's helper.
type author struct{ member, helper string }

// shownDraft is a draft below the rows.
type shownDraft struct {
	by    author
	entry termview.Entry
}

// draftLines returns the ends of the drafts of the chosen member as lines of the screen: at most
// two thirds of room, divided equally. Whoever scrolls or searches reads the journal, and the
// screen stays as it is.
func (g *rowLog) draftLines(room int) []string {
	if g.up || g.text != "" {
		return nil
	}
	drafts := g.drafts
	if g.member != "" {
		drafts = slices.DeleteFunc(slices.Clone(drafts), func(d shownDraft) bool { return d.by.member != g.member })
	}
	most := room * 2 / 3
	if len(drafts) == 0 || most <= 0 {
		return nil
	}
	share := max(1, most/len(drafts))
	var lines []string
	for _, d := range drafts[:min(len(drafts), most)] {
		lines = append(lines, lastLines(g.screen, d.entry, g.width, share)...)
	}
	return lines
}

// lastLines lays an entry out and keeps its last lines. The first of them gets the head of the
// entry, if it has a column of its own.
func lastLines(s *term.Screen, e termview.Entry, width, most int) []string {
	lines := termview.Lines(s, e, width)
	if len(lines) <= most {
		return lines
	}
	lines = lines[len(lines)-most:]
	e.Text = ""
	head := termview.Lines(s, e, width)[0]
	if rest, ok := strings.CutPrefix(lines[0], strings.Repeat(" ", ansi.StringWidth(head))); ok {
		lines[0] = head + rest
	}
	return lines
}

// writing describes what a member writes; empty: nothing. At the gates its text is about to be
// whole.
func writing(now members.Drafting, m *view.Member) string {
	i := slices.IndexFunc(now.Drafts, func(d members.Draft) bool { return d.Member == m.Name && d.Helper == "" })
	if i < 0 || m.State != api.Working || m.Gate != "" {
		return ""
	}
	return writes(now.Drafts[i])
}

// writes describes a draft in one line by its end, which changes while the model writes; empty:
// there is nothing to read yet.
func writes(d members.Draft) string {
	const columns = 60
	text := strings.TrimSpace(term.PlainLine(d.Text))
	if text == "" {
		return ""
	}
	if over := ansi.StringWidth(text) - columns; over > 0 {
		text = ansi.TruncateLeft(text, over+1, "…")
	}
	return "writes: " + text
}
