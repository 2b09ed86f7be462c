package board

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

var update = flag.Bool("update", false, "write the frames in testdata anew")

// TestFrames: testdata/frames.txtar has frames as a person sees them without colours.
func TestFrames(t *testing.T) {
	path := filepath.Join("testdata", "frames.txtar")
	golden, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var drawn []txtar.File
	for _, f := range []struct {
		name          string
		width, height int
		ended         bool
		keys          []string
	}{
		{"80x24", 80, 24, false, nil},
		{"120x40", 120, 40, false, nil},
		{"200x60", 200, 60, false, nil},
		{"60x14, low", 60, 14, false, nil},
		{"19x4, too small for panes", 19, 4, false, nil},
		{"80x24, the chosen member", 80, 24, false, []string{"tab", "down", "down"}},
		{"80x24, the chosen task, a merge is asked about", 80, 24, false,
			[]string{"tab", "tab", "down", "down", "m"}},
		{"80x24, a filter is typed", 80, 24, false, []string{"3", "/", "TEST"}},
		{"80x24, the whole question", 80, 24, false, []string{"down", "enter"}},
		{"80x24, the whole log", 80, 24, false, []string{"4", "enter"}},
		{"80x24, help", 80, 24, false, []string{"?"}},
		{"80x24, ended", 80, 24, true, []string{"a"}},
	} {
		b := newBoard(t, f.width, f.height)
		b.full = "api asks to use Bash: git push origin main\n\n{\n  \"command\": \"git push origin main\"\n}"
		b.sees(played()...)
		if f.ended {
			b.up = false
			b.sees(teamtest.Line(60, "", "team_ended", `{"reason":"told to stop: lunch","exit_code":1}`))
		}
		b.press(f.keys...)
		drawn = append(drawn, txtar.File{Name: f.name, Data: []byte(b.frame() + "\n")})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(&txtar.Archive{Comment: golden.Comment, Files: drawn}), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, f := range drawn {
		if i >= len(golden.Files) || golden.Files[i].Name != f.Name ||
			string(golden.Files[i].Data) != string(f.Data) {
			t.Errorf("-- %s --\n%s", f.Name, f.Data)
		}
	}
}

// TestColours: the state is coloured, and the words stand there without colours, too.
func TestColours(t *testing.T) {
	b := newBoard(t, 100, 30)
	b.sees(played()...)
	plain := b.frame()
	b.screen.Color = true
	coloured := b.frame()
	for word, style := range map[string]term.Style{
		"needs you": term.Yellow, "needs attention 1m06s": term.Yellow, "waiting 1m05s": term.Yellow, "in progress": term.Cyan,
	} {
		if !strings.Contains(coloured, "\x1b["+string(style)+"m"+word) || !strings.Contains(plain, word) {
			t.Errorf("%q is not said, or not in %s:\n%s\n%q", word, style, plain, coloured)
		}
	}
	if strings.Contains(plain, "\x1b") {
		t.Errorf("colours without colours: %q", plain)
	}
}

// TestDraftsOnBoard: what the chosen member writes stands below its log until the whole text comes.
func TestDraftsOnBoard(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	b.press("down")
	drafts := members.Drafting{Number: 1, Seq: b.state.Seq, Drafts: []members.Draft{{Member: "api", Text: "I wri"}, {Member: "docs", Text: "Me, too"}}}
	b.does(news{scene: b.look(drafts), drafts: drafts})
	b.shows("writing… api        I wri")
	b.hides("Me, too")
	b.does(news{scene: b.look(members.Drafting{})})
	b.hides("writing…")
}

// TestServersOnBoard: the state of the servers that keep the team's data has a line of its own, where there
// is room, as long as the team runs.
func TestServersOnBoard(t *testing.T) {
	bus := teamtest.Line(20, "", "bus", `{"host":"a.test","since":"2026-11-21T12:00:00Z","epoch":3,"standby":"b.test"}`)
	const words = "epoch 3 · standby b.test · no quorum: no turns begin"
	b := newBoard(t, 120, 24)
	b.sees(append(played(), bus)...)
	b.shows("bus: coordinator a.test since 2026", words)
	b.up = false
	b.sees(teamtest.Line(60, "", "team_ended", `{"reason":"told to stop: lunch","exit_code":1}`))
	b.hides(words)
	low := newBoard(t, 120, stackHeight)
	low.sees(append(played(), bus)...)
	low.hides(words)
}
