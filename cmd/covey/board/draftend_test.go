package board

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestDraftEnds: a draft ends with the text of the same author, and with no other line. A draft
// that the team has sent before that text does not come back; one that it has sent after does.
func TestDraftEnds(t *testing.T) {
	member, helper := members.Draft{Member: "api", Text: "mine"}, members.Draft{Member: "api", Helper: "a01", Text: "helper's"}
	said := func(seq int, helper, kind string) events.Line {
		l := teamtest.Line(seq, "api", kind, `{"text":"said"}`)
		l.Helper = helper
		return l
	}
	for name, test := range map[string]struct {
		line events.Line
		now  members.Drafting // what the team says next
		want string           // the drafts that are shown after both
	}{
		"its own text":              {said(5, "", "text"), drafting(4, member, helper), "helper's"},
		"its helper's text":         {said(5, "a01", "text"), drafting(4, member, helper), "mine"},
		"the next draft":            {said(5, "", "text"), drafting(5, member, helper), "mine helper's"},
		"another line of its own":   {said(5, "", "tool_finished"), drafting(4, member, helper), "mine helper's"},
		"a text of another helper":  {said(5, "a02", "text"), drafting(4, member, helper), "mine helper's"},
		"its own text, and no more": {said(5, "", "text"), drafting(6), ""},
	} {
		g := apiLog(1, 2)
		g.setDrafts(drafting(2, member, helper))
		g.add(newLogRow(test.line.Event()))
		g.setDrafts(test.now)
		var shown []string
		for _, d := range g.drafts {
			for _, text := range []string{member.Text, helper.Text} {
				if strings.Contains(d.entry.Text, text) {
					shown = append(shown, text)
				}
			}
		}
		if got := strings.Join(shown, " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestDraftsFit: whatever is written and however small the screen, the drafts take at most two
// thirds of its lines, none is wider than it, and no control character reaches it.
func TestDraftsFit(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab \n\t\x1b\x07é世🙂\u202e")), 0, 300, -1)
	rapid.Check(t, func(t *rapid.T) {
		width, room := rapid.IntRange(8, 90).Draw(t, "width"), rapid.IntRange(0, 20).Draw(t, "room")
		g := apiLog(1, 3)
		var now members.Drafting
		for i := range rapid.IntRange(0, 25).Draw(t, "drafts") {
			now.Drafts = append(now.Drafts, members.Draft{Member: fmt.Sprint("m", i), Text: text.Draw(t, "text"), Cut: i%2 == 0})
		}
		g.setDrafts(now)
		g.width = width
		lines := g.draftLines(room)
		if len(lines) > room*2/3 {
			t.Fatalf("%d lines of %d", len(lines), room)
		}
		for _, line := range lines {
			if strings.ContainsAny(line, "\n\x1b\x07\u202e") || ansi.StringWidth(line) > width {
				t.Fatalf("of %d columns: %q", width, line)
			}
		}
	})
}

// TestWrites: the line of a member that writes is short, ends as the text does, and is empty as
// long as there is nothing to read.
func TestWrites(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \n\t": "", "One.": "writes: One.", "One.\nTwo. ": "writes: One. Two.",
		strings.Repeat("x", 60):  "writes: " + strings.Repeat("x", 60),
		strings.Repeat("x", 61):  "writes: …" + strings.Repeat("x", 59),
		strings.Repeat("世", 100): "writes: …" + strings.Repeat("世", 30), // half of a wide letter is not cut off
	} {
		if got := writes(members.Draft{Text: text}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
