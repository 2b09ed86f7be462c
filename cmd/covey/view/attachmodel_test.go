package view

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/cmd/covey/teamtest"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/lives"
)

// textLine is a journal line that says "word N".
func textLine(n int) events.Line {
	return teamtest.Line(n, "api", "text", fmt.Sprintf(`{"text":"word %d."}`, n))
}

// pagerOf is a pager of a terminal with lines from to to.
func pagerOf(width, height, from, to int) *pager {
	s, _ := teamtest.Screen()
	p := newPager(s, "api of crew", nil)
	p.width, p.height = width, height
	for i := from; i <= to; i++ {
		p.add(NewRow(textLine(i).Event()))
	}
	return p
}

// press is a key by its name, or typed text.
func press(p *pager, keys ...string) action {
	named := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "backspace": {Code: tea.KeyBackspace}, "pgup": {Code: tea.KeyPgUp},
		"pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "delete": {Code: tea.KeyDelete},
		"shift+up": {Code: tea.KeyUp, Mod: tea.ModShift}, "shift+down": {Code: tea.KeyDown, Mod: tea.ModShift},
		"ctrl+a": {Code: 'a', Mod: tea.ModCtrl}, "ctrl+k": {Code: 'k', Mod: tea.ModCtrl},
		"ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl},
		"ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl},
	}
	var a action
	for _, k := range keys {
		if msg, ok := named[k]; ok {
			a = p.key(msg)
			continue
		}
		for _, r := range k {
			a = p.key(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return a
}

func TestPagerTyping(t *testing.T) {
	for _, tc := range []struct {
		name  string
		keys  []string
		want  action
		typed string
	}{
		{"a line is sent", []string{"use the API", "enter"}, action{send: "use the API"}, ""},
		{"blanks around it are not", []string{"  hi ", "enter"}, action{send: "hi"}, ""},
		{"nothing is not sent", []string{"enter"}, action{}, ""},
		{"q leaves soon", []string{"q"}, action{leaveSoon: true}, "q"},
		{"more than q stays", []string{"quick"}, action{}, "quick"},
		{"q and Enter leave", []string{"q", "enter"}, action{leave: true}, ""},
		{"q within a line is a letter", []string{"x", "left", "q"}, action{}, "qx"},
		{"q that is left of a line is none", []string{"xq", "home", "delete"}, action{}, "q"},
		{"Ctrl-D leaves an empty line", []string{"a", "backspace", "ctrl+d"}, action{leave: true}, ""},
		{"Ctrl-D deletes what is there", []string{"half a", "ctrl+a", "ctrl+d"}, action{}, "alf a"},
		{"Ctrl-D at the end of a line", []string{"half a", "ctrl+d"}, action{}, "half a"},
		{"Ctrl-C leaves", []string{"ctrl+c"}, action{leave: true}, ""},
		{"Ctrl-Z stops it", []string{"half a", "ctrl+z"}, action{suspend: true}, "half a"},
		{"backspace takes a character", []string{"aé", "backspace"}, action{}, "a"},
		{"backspace on nothing", []string{"backspace"}, action{}, ""},
		{"Ctrl-U takes all", []string{"abc def", "ctrl+u"}, action{}, ""},
		{"Ctrl-W takes a word", []string{"abc def ", "ctrl+w"}, action{}, "abc "},
		{"Ctrl-W on one word", []string{"abc", "ctrl+w"}, action{}, ""},
		{"Ctrl-K takes the rest", []string{"abc", "left", "left", "ctrl+k"}, action{}, "a"},
		{"a letter goes where the cursor is", []string{"ac", "left", "b", "end", "d"}, action{}, "abcd"},
		{"Home goes to the line's beginning", []string{"bc", "home", "a"}, action{}, "abc"},
		{"Up brings the last line back", []string{"one", "enter", "two", "enter", "up"}, action{}, "two"},
		{"Up again the one before", []string{"one", "enter", "two", "enter", "up", "up", "up"}, action{}, "one"},
		{"Down brings back what was typed", []string{"one", "enter", "two", "up", "down", "down"}, action{}, "two"},
		{"a line that came back can be edited and sent", []string{"one", "enter", "up", "s", "enter"}, action{send: "ones"}, ""},
		{"an edited line leaves the old one", []string{"one", "enter", "up", "s", "enter", "up", "up"}, action{}, "one"},
		{"equal lines are one", []string{"one", "enter", "one", "enter", "two", "enter", "up", "up", "up"}, action{}, "one"},
		{"empty lines are none", []string{"one", "enter", "enter", "up"}, action{}, "one"},
		{"nothing was sent", []string{"half", "up", "down"}, action{}, "half"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := pagerOf(60, 10, 1, 3)
			if got := press(p, tc.keys...); got != tc.want || p.line.Text() != tc.typed {
				t.Errorf("%+v with %q typed, want %+v with %q", got, p.line.Text(), tc.want, tc.typed)
			}
		})
	}
}

func TestPagerPaste(t *testing.T) {
	p := pagerOf(60, 10, 1, 1)
	p.line.Insert("one\r\ntwo\rthree")
	if p.line.Text() != "one\ntwo\nthree" {
		t.Errorf("typed %q", p.line.Text())
	}
	if view := p.view(); !strings.Contains(view, "> one⏎two⏎three") {
		t.Errorf("view\n%s", view)
	}
}

// wordOf is a journal line that says "word N", of api if N is even, else of ben.
func wordOf(n int) events.Line {
	l := textLine(n)
	if n%2 == 1 {
		l.Member = "ben"
	}
	return l
}

// shown are the numbers of the words on the screen.
func shown(p *pager) string { return wordsIn([]string{p.view()}) }

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

func TestPagerScrolls(t *testing.T) {
	p := pagerOf(60, 8, 1, 20) // room for five
	for _, step := range []struct{ key, want string }{
		{"", "16 17 18 19 20"},
		{"pgup", "12 13 14 15 16"},
		{"shift+up", "11 12 13 14 15"},
		{"shift+down", "12 13 14 15 16"},
		{"pgdown", "16 17 18 19 20"},
		{"home", "1 2 3 4 5"},
		{"end", "16 17 18 19 20"},
	} {
		if step.key != "" {
			press(p, step.key)
		}
		if got := shown(p); got != step.want {
			t.Fatalf("after %q: %s, want %s", step.key, got, step.want)
		}
	}
}

// TestPagerStaysWhereItIs: news does not move what somebody reads.
func TestPagerStaysWhereItIs(t *testing.T) {
	p := pagerOf(60, 8, 1, 20)
	press(p, "pgup")
	p.add(NewRow(textLine(21).Event()))
	if got := shown(p); got != "12 13 14 15 16" {
		t.Errorf("while scrolled up: %s", got)
	}
	if !strings.Contains(p.view(), "scrolled up") {
		t.Error("nothing says that this is not the end")
	}
	press(p, "end")
	p.add(NewRow(textLine(22).Event()))
	if got := shown(p); got != "18 19 20 21 22" {
		t.Errorf("at the end: %s", got)
	}
}

// TestPagerAsksForOlderLines once, when the top of what is here is reached.
func TestPagerAsksForOlderLines(t *testing.T) {
	p := pagerOf(60, 8, 11, 20)
	if a := press(p, "pgup"); a.older {
		t.Error("asked for older lines while there are some here")
	}
	if a := press(p, "pgup"); !a.older {
		t.Error("did not ask at the top")
	}
	if a := press(p, "pgup"); a.older {
		t.Error("asked twice")
	}
	p.addOlder(rowsOf([]events.Line{textLine(9), textLine(10)}))
	if a := press(p, "home"); !a.older {
		t.Error("did not ask at the new top")
	}
	p.addOlder(nil)
	if a := press(p, "home"); a.older || shown(p) != "9 10 11 12 13" {
		t.Errorf("at the beginning: asked %t, shows %s", a.older, shown(p))
	}
}

func TestPagerCutsLongResults(t *testing.T) {
	p := pagerOf(80, 200, 1, 0)
	p.add(NewRow(teamtest.Line(1, "api", "tool_result", fmt.Sprintf(`{"content":%q}`, strings.Repeat("x\n", 500))).Event()))
	view := p.view()
	if n := strings.Count(view, "│ x"); n != maxRowLines || !strings.Contains(view, "the rest: covey logs") {
		t.Errorf("%d lines shown:\n%s", n, view)
	}
}

// TestPagerFits: no size and no text breaks the drawing.
func TestPagerFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pagerOf(rapid.IntRange(1, 120).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height"), 1, 0)
		p.screen = &term.Screen{Color: true}
		p.log.screen = p.screen
		for i := range rapid.IntRange(0, 30).Draw(t, "lines") {
			text := strings.ToValidUTF8(rapid.String().Draw(t, "text"), "?")
			p.add(NewRow(teamtest.Line(i, "api", "text", fmt.Sprintf(`{"text":%q}`, text)).Event()))
		}
		var now lives.Drafting
		for _, text := range rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "drafts") {
			now.Drafts = append(now.Drafts, lives.Draft{Member: "api", Text: strings.Repeat(text, 9)})
		}
		p.log.SetDrafts(now)
		for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"pgup", "pgdown", "home", "end", "up", "down", "left",
			"shift+up", "enter", "some words 世界"}),
			0, 8).Draw(t, "keys") {
			press(p, key)
		}
		p.say(rapid.String().Draw(t, "notice"), true)
		lines := strings.Split(p.view(), "\n")
		if len(lines) != p.height {
			t.Fatalf("%d lines on a terminal of %d", len(lines), p.height)
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > p.width {
				t.Fatalf("%q is wider than %d", line, p.width)
			}
		}
	})
}
