package board

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// textLine is a journal line that says "word N".
func textLine(n int) events.Line {
	return teamtest.Line(n, "api", "text", fmt.Sprintf(`{"text":"word %d."}`, n))
}

// wordOf is a journal line that says "word N", of api if N is even, else of ben.
func wordOf(n int) events.Line {
	l := textLine(n)
	if n%2 == 1 {
		l.Member = "ben"
	}
	return l
}

// wordsIn are the numbers of the words in lines.
func wordsIn(lines []string) string {
	var words []string
	for _, field := range strings.Fields(strings.Join(lines, "\n")) {
		if strings.HasSuffix(field, ".") && field[0] >= '0' && field[0] <= '9' {
			words = append(words, strings.TrimSuffix(field, "."))
		}
	}
	return strings.Join(words, " ")
}

// apiLog is a log with lines from to to, all of api.
func apiLog(from, to int) *rowLog {
	s, _ := teamtest.Screen()
	g := newLog(s)
	for i := from; i <= to; i++ {
		g.add(newLogRow(textLine(i).Event()))
	}
	return g
}

// mixedLog is a log with lines from to to, of api and ben in turn.
func mixedLog(from, to int) *rowLog {
	s, _ := teamtest.Screen()
	g := newLog(s)
	for i := from; i <= to; i++ {
		g.add(newLogRow(wordOf(i).Event()))
	}
	return g
}

// laidOut counts the rows that were laid out.
func laidOut(g *rowLog) int {
	n := 0
	for _, r := range g.rows {
		if r.lines != nil {
			n++
		}
	}
	return n
}

// TestLogLaysOutWhatIsSeen: a frame of a log of a hundred thousand rows lays out those that are on
// the screen and no other, once; so does each key.
func TestLogLaysOutWhatIsSeen(t *testing.T) {
	s, _ := teamtest.Screen()
	g := newLog(s)
	row := newLogRow(textLine(1).Event())
	for range maxRows {
		r := *row
		g.add(&r)
	}
	g.draw(80, 24)
	if n := laidOut(g); n != 24 {
		t.Fatalf("%d rows were laid out for 24 lines", n)
	}
	layout := &g.rows[maxRows-1].lines[0]
	g.draw(80, 24)
	if &g.rows[maxRows-1].lines[0] != layout {
		t.Error("a row was laid out again for the same width")
	}
	for i, key := range []string{"pgup", "shift+up", "ctrl+home", "pgdown", "pgup", "ctrl+end"} {
		g.key(key)
		g.draw(80, 24)
		if n := laidOut(g); n > 24*(i+2) {
			t.Errorf("%d rows were laid out after %q", n, key)
		}
	}
}

// TestLogForgets: a log has a bounded number of rows and of bytes, and says when it drops some.
func TestLogForgets(t *testing.T) {
	s, _ := teamtest.Screen()
	g := newLog(s)
	row, dropped := newLogRow(textLine(1).Event()), 0
	for range 2 * maxRows {
		r := *row
		if g.add(&r) {
			dropped++
		}
	}
	if len(g.rows) > maxRows+maxRows/10 || dropped == 0 || dropped > 12 {
		t.Errorf("%d rows kept, dropped %d times", len(g.rows), dropped)
	}
	g = newLog(s)
	large := logRow{entry: view.Entry{Text: strings.Repeat("x", maxRowBytes)}, shown: true}
	for i := range 2 * maxLogBytes / maxRowBytes {
		if r := large; i%2 == 0 || !g.add(&r) {
			continue
		}
		g.key("ctrl+home") // somebody reads what goes next
		g.draw(80, 24)
	}
	if g.bytes > maxLogBytes+maxLogBytes/10 {
		t.Errorf("%d bytes kept", g.bytes)
	}
}

// TestLogScrolls by pages and lines, and to both ends; what comes does not move what somebody reads.
func TestLogScrolls(t *testing.T) {
	g := apiLog(1, 20)
	for _, step := range []struct{ key, want string }{
		{"", "16 17 18 19 20"},
		{"pgup", "12 13 14 15 16"},
		{"shift+up", "11 12 13 14 15"},
		{"shift+down", "12 13 14 15 16"},
		{"pgdown", "16 17 18 19 20"},
		{"ctrl+home", "1 2 3 4 5"},
		{"ctrl+end", "16 17 18 19 20"},
	} {
		if step.key != "" {
			g.key(step.key)
		}
		if got := wordsIn(g.draw(60, 5)); got != step.want {
			t.Fatalf("after %q: %s, want %s", step.key, got, step.want)
		}
	}
	g.key("pgup")
	g.add(newLogRow(textLine(21).Event()))
	if got := wordsIn(g.draw(60, 5)); got != "12 13 14 15 16" || !g.isUp() {
		t.Errorf("while scrolled up: %s", got)
	}
	g.key("ctrl+end")
	g.add(newLogRow(textLine(22).Event()))
	if got := wordsIn(g.draw(60, 5)); got != "18 19 20 21 22" || g.isUp() {
		t.Errorf("at the end: %s", got)
	}
}

// TestLogOldest: a row that is in no journal has no number.
func TestLogOldest(t *testing.T) {
	g := apiLog(1, 0)
	g.add(noteRow(view.Entry{Text: "a note"}))
	if got := g.oldest(); got != 0 {
		t.Errorf("of a note: %d", got)
	}
	g.add(newLogRow(textLine(7).Event()))
	g.addOlder([]*logRow{newLogRow(textLine(5).Event())})
	if got := g.oldest(); got != 5 {
		t.Errorf("got %d", got)
	}
}

// TestLogChooses: only rows of the member with the text are shown, and all of them again after.
func TestLogChooses(t *testing.T) {
	g := mixedLog(1, 40)
	words := func() string { return wordsIn(g.draw(60, 5)) }
	for _, step := range []struct{ member, text, want string }{
		{"", "", "36 37 38 39 40"},
		{"api", "", "32 34 36 38 40"},
		{"ben", "", "31 33 35 37 39"},
		{"api", "WORD 1", "10 12 14 16 18"},
		{"", "ben", "31 33 35 37 39"},
		{"", "word 7", "7"},
		{"cleo", "", ""},
		{"", "", "36 37 38 39 40"},
	} {
		g.choose(step.member, step.text)
		if got := words(); got != step.want {
			t.Errorf("of %q with %q: %s, want %s", step.member, step.text, got, step.want)
		}
	}
	g.choose("api", "")
	g.key("ctrl+home")
	if got := words(); got != "2 4 6 8 10" {
		t.Errorf("at the top: %s", got)
	}
	g.add(newLogRow(wordOf(41).Event()))
	g.add(newLogRow(wordOf(42).Event()))
	if got := words(); got != "2 4 6 8 10" || !g.isUp() {
		t.Errorf("new rows moved the screen: %s", got)
	}
	g.choose("api", "4")
	if got := words(); got != "14 24 34 40 42" || g.isUp() {
		t.Errorf("another choice goes to the newest: %s", got)
	}
}

// TestLogPosition: whatever comes, is dropped, chosen or resized, the screen is full if it can be,
// nothing is wider than it, and the lines are those of consecutive rows.
func TestLogPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := mixedLog(100, 100+rapid.IntRange(0, 60).Draw(t, "rows"))
		next, first := 100+len(g.rows), 100
		width, height := 60, 8
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				width, height = rapid.IntRange(1, 100).Draw(t, "width"), rapid.IntRange(0, 30).Draw(t, "height")
			case 1:
				g.add(newLogRow(wordOf(next).Event()))
				next++
			case 2:
				first -= 2
				g.addOlder([]*logRow{newLogRow(wordOf(first).Event()), newLogRow(wordOf(first + 1).Event())})
			case 3:
				g.choose(rapid.SampledFrom([]string{"", "api", "ben"}).Draw(t, "member"), "")
			default:
				g.key(rapid.SampledFrom([]string{"pgup", "pgdown", "shift+up", "shift+down", "ctrl+home", "ctrl+end"}).Draw(t, "key"))
			}
			before := g.isUp()
			lines := g.draw(width, height)
			all := 0
			for i := g.after(0); i < len(g.rows); i = g.after(i + 1) {
				all += len(g.linesOf(i))
			}
			if len(lines) != min(height, all) || before && height > all && g.isUp() {
				t.Fatalf("%d lines of %d in %d, scrolled up %v", len(lines), all, height, g.isUp())
			}
			for _, line := range lines {
				if ansi.StringWidth(line) > width {
					t.Fatalf("%q is wider than %d", line, width)
				}
			}
		}
	})
}

// TestLongRow: of a line of many megabytes a row keeps what can be seen of it.
func TestLongRow(t *testing.T) {
	for name, text := range map[string]string{"long": strings.Repeat("世", 1<<20), "many": strings.Repeat("x\n", 1<<20)} {
		r := newLogRow(teamtest.Line(1, "api", "text", fmt.Sprintf(`{"text":%q}`, text)).Event())
		if len(r.entry.Text) > maxRowBytes+100 || !strings.HasSuffix(r.entry.Text, "… the rest: covey logs") {
			t.Errorf("%s: %d bytes", name, len(r.entry.Text))
		}
	}
}

// BenchmarkLogFrame is what a frame after a key costs with the most rows that a log has.
func BenchmarkLogFrame(b *testing.B) {
	g := mixedLog(1, maxRows)
	for _, key := range []string{"pgup", "ctrl+home", "ctrl+end"} {
		b.Run(key, func(b *testing.B) {
			for range b.N {
				g.key(key)
				g.draw(120, 40)
			}
		})
	}
	b.Run("filter", func(b *testing.B) {
		for i := range b.N {
			g.choose("api", fmt.Sprint("nothing has ", i))
			g.draw(120, 40)
		}
	})
}
