package board

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// drafting is what members write after the line seq of the journal.
func drafting(seq uint64, drafts ...members.Draft) members.Drafting {
	return members.Drafting{Number: seq, Seq: seq, Drafts: drafts}
}

// TestDraftFrames: testdata/drafts.txtar holds a log during an answer.
func TestDraftFrames(t *testing.T) {
	g := apiLog(1, 2)
	golden, err := txtar.ParseFile(filepath.Join("testdata", "drafts.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("One more line that is a bit long. ", 12)
	for i, do := range []func(){
		func() { g.setDrafts(drafting(2, members.Draft{Member: "api", Text: "I look"})) },
		func() {
			g.setDrafts(drafting(2, members.Draft{Member: "api", Text: "I look at \x1b[2J it\nand\tthink."},
				members.Draft{Member: "api", Helper: "a0123456789", Text: " \n"}, members.Draft{Member: "ben", Helper: "a0123456789", Text: "Me, too."}))
		},
		func() { g.setDrafts(drafting(2, members.Draft{Member: "api", Text: long, Cut: true})) },
		func() {
			for n := 3; n <= 10; n++ {
				g.add(newLogRow(textLine(n).Event()))
			}
			g.setDrafts(drafting(10, members.Draft{Member: "api", Text: long, Cut: true}))
			g.key("shift+up")
		},
		func() { g.key("ctrl+end") },
		func() { g.add(newLogRow(teamtest.Line(11, "api", "text", `{"text":"I looked."}`).Event())) },
		func() { g.setDrafts(drafting(10, members.Draft{Member: "api", Text: "I looked."})) },
		func() { g.setDrafts(drafting(11, members.Draft{Member: "api", Text: "Then"})) },
		func() { g.setDrafts(drafting(11)) },
	} {
		do()
		lines := g.draw(46, 9)
		for j, line := range lines {
			lines[j] = strings.TrimRight(line, " ")
		}
		got := clockTime.ReplaceAllString(strings.TrimRight(strings.Join(lines, "\n"), "\n")+"\n", "HH:MM:SS")
		if i >= len(golden.Files) || string(golden.Files[i].Data) != got {
			t.Errorf("frame %d is\n%s", i+1, got)
		}
	}
}

// clockTime matches the time of a line, which depends on where the test runs.
var clockTime = regexp.MustCompile(`\d\d:\d\d:\d\d`)

// TestDraftsOfManyMembers share two thirds of the screen, one line each at least.
func TestDraftsOfManyMembers(t *testing.T) {
	g := apiLog(1, 20)
	var now members.Drafting
	for i := range 30 {
		now.Drafts = append(now.Drafts, members.Draft{Member: fmt.Sprintf("m%d", i), Text: strings.Repeat("word ", 40) + "end."})
	}
	g.setDrafts(now)
	view := strings.Join(g.draw(60, 9), "\n")
	if n := strings.Count(view, "end."); n != 6 || strings.Count(view, "writing…") != 6 || !strings.Contains(view, "20.") {
		t.Errorf("%d drafts are shown:\n%s", n, view)
	}
}

// TestDraftsAreFaint, so that nobody takes them for what a member has said.
func TestDraftsAreFaint(t *testing.T) {
	g := apiLog(1, 1)
	g.screen = &term.Screen{Color: true}
	g.setDrafts(drafting(1, members.Draft{Member: "api", Text: "I look"}))
	view := strings.Join(g.draw(60, 9), "\n")
	if want := g.screen.Paint(term.Faint, "I look"); !strings.Contains(view, want) {
		t.Errorf("no %q in\n%q", want, view)
	}
}

// TestWriting: while a member works, the end of what it writes is said; what its helpers write is not.
func TestWriting(t *testing.T) {
	now := drafting(1, members.Draft{Member: "api", Helper: "a01", Text: "not this"}, members.Draft{Member: "api", Text: strings.Repeat("long ", 30) + "\nand \x1b[1m wide"},
		members.Draft{Member: "ben", Text: " \n"})
	for name, test := range map[string]struct {
		member view.Member
		want   string
	}{
		"writes":       {view.Member{Name: "api", State: api.Working}, `writes: …ng long long long long long long long long and \x1b[1m wide`},
		"nothing yet":  {view.Member{Name: "ben", State: api.Working}, ""},
		"thinks":       {view.Member{Name: "cleo", State: api.Working}, ""},
		"rests":        {view.Member{Name: "api", State: api.Resting}, ""},
		"at the gates": {view.Member{Name: "api", State: api.Working, Gate: "Stop"}, ""},
	} {
		if got := writing(now, &test.member); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
