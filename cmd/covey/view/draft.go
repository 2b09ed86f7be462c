package view

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/lives"
)

// noTime stands where a journal line has its time, because a draft may never have one.
const noTime = "writing…"

// draftEntry returns a draft as an entry like that of the text which takes its place, but faint
// and without a time. ok is false if there is nothing to read yet.
func draftEntry(d lives.Draft) (e entry, ok bool) {
	text := strings.TrimSpace(term.Plain(d.Text))
	if text == "" {
		return entry{}, false
	}
	if d.Cut {
		text = "…" + text
	}
	return entry{who: term.PlainLine(d.Member), text: named(journal.Line{Helper: d.Helper}, text), style: term.Faint}, true
}

// DraftOf describes a draft as the line that its text may become; false: there is nothing to read
// yet.
func DraftOf(d lives.Draft) (Entry, bool) {
	e, ok := draftEntry(d)
	return Entry{Who: e.who, Text: e.text, Style: e.style}, ok
}

// setDrafts replaces the drafts below the journal. A draft whose text has come from the journal
// since the team has sent it is not shown again.
func (p *pager) setDrafts(now lives.Drafting) {
	p.drafts = nil
	for _, d := range now.Drafts {
		if e, ok := draftEntry(d); ok && p.said[author{d.Member, d.Helper}] <= now.Seq {
			p.drafts = append(p.drafts, shownDraft{author{d.Member, d.Helper}, e})
		}
	}
}

// endDraft removes the draft whose text a line of the journal has.
func (p *pager) endDraft(l journal.Line) {
	if l.Type != "text" {
		return
	}
	by := author{l.Member, l.Helper}
	if p.said == nil {
		p.said = map[author]uint64{}
	}
	p.said[by] = l.Seq
	for i, d := range p.drafts {
		if d.by == by {
			p.drafts = append(p.drafts[:i:i], p.drafts[i+1:]...)
			return
		}
	}
}

// author is a member, or a member's helper.
type author struct{ member, helper string }

// shownDraft is a draft below the journal.
type shownDraft struct {
	by    author
	entry entry
}

// draftLines returns the ends of the drafts as lines of the screen: at most two thirds of room,
// divided equally. Whoever scrolls reads the journal, and the screen stays as it is.
func (p *pager) draftLines(room int) []string {
	most := room * 2 / 3
	if p.below > 0 || len(p.drafts) == 0 || most == 0 {
		return nil
	}
	share := max(1, most/len(p.drafts))
	var lines []string
	for _, d := range p.drafts[:min(len(p.drafts), most)] {
		lines = append(lines, lastLines(p.screen, d.entry, p.width, share)...)
	}
	return lines
}

// lastLines lays an entry out and keeps its last lines. The first of them gets the head of the
// entry, if it has a column of its own.
func lastLines(s *term.Screen, e entry, width, most int) []string {
	lines := entryLines(s, e, width)
	if len(lines) <= most {
		return lines
	}
	lines = lines[len(lines)-most:]
	e.text = ""
	head := entryLines(s, e, width)[0]
	if rest, ok := strings.CutPrefix(lines[0], strings.Repeat(" ", ansi.StringWidth(head))); ok {
		lines[0] = head + rest
	}
	return lines
}

// writes describes a draft in one line by its end, which changes while the model writes; empty:
// there is nothing to read yet.
func writes(d lives.Draft) string {
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
