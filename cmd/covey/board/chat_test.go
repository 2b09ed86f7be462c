package board

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// opened is a board that was opened on a member.
func opened(t *testing.T, member string) *boardOf {
	b := newBoard(t, 80, 24)
	b.open(member)
	b.sees(played()...)
	return b
}

// TestOpenedOnMember: the log of the member fills the board, with a line to write to it; Esc leads to
// the keys, and then to the whole board.
func TestOpenedOnMember(t *testing.T) {
	b := opened(t, "api")
	b.shows("4 Log of api", "I look at the router first", "to api:", "Enter send", "Ctrl-D quit")
	b.hides("8 refusals in a row", "2 Members")
	b.press("esc")
	b.shows("s send  h hold  i interrupt", "Esc back")
	b.press("esc")
	b.shows("2 Members (3)", "· api")
	b.press("esc", "down")
	b.shows("> docs")
	b = opened(t, "somebody else")
	b.shows("Log of somebody else", "to somebody else:")
	b.press("hello", "enter", "esc", "esc", "esc", "down")
	b.shows("> lead")
	if want := []Act{{Verb: Send, Member: "somebody else", Text: "hello"}}; !slices.Equal(b.acts, want) {
		t.Errorf("%+v, want %+v", b.acts, want)
	}
}

// TestTypes: the keys of a shell edit the line, which stays, and what was sent comes back.
func TestTypes(t *testing.T) {
	ctrl := func(letter rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: letter, Mod: tea.ModCtrl} }
	for name, test := range map[string]struct {
		keys  []any
		sent  string // the texts, with / between
		typed string
		quit  bool
	}{
		"a line is sent":               {[]any{"use the API", "enter"}, "use the API", "", false},
		"blanks around it are not":     {[]any{"  hi ", "enter"}, "hi", "", false},
		"nothing is not sent":          {[]any{"enter", " ", "enter"}, "", " ", false},
		"two lines":                    {[]any{"one", "enter", "two", "enter"}, "one/two", "", false},
		"q and Enter leave":            {[]any{"q", "enter"}, "", "", true},
		"more than q stays":            {[]any{"quick", "enter"}, "quick", "", false},
		"Ctrl-D leaves an empty line":  {[]any{"a", "backspace", "ctrl+d"}, "", "", true},
		"Ctrl-D deletes what is there": {[]any{"half a", ctrl('a'), "ctrl+d"}, "", "alf a", false},
		"Ctrl-C leaves":                {[]any{"half", "ctrl+c"}, "", "half", true},
		"Ctrl-U takes all":             {[]any{"abc def", ctrl('u')}, "", "", false},
		"Ctrl-W takes a word":          {[]any{"abc def ", ctrl('w')}, "", "abc ", false},
		"Ctrl-K takes the rest":        {[]any{"abc", "left", "left", ctrl('k')}, "", "a", false},
		"a letter in the middle":       {[]any{"ac", "left", "b", "end", "d"}, "", "abcd", false},
		"Home":                         {[]any{"bc", "home", "a"}, "", "abc", false},
		"Up brings back the last":      {[]any{"one", "enter", "two", "enter", "up", "up", "up"}, "one/two", "one", false},
		"Down brings back the typed":   {[]any{"one", "enter", "two", "up", "down", "down"}, "one", "two", false},
		"what came back is edited":     {[]any{"one", "enter", "up", "s", "enter", "up", "up"}, "one/ones", "one", false},
		"equal lines are one":          {[]any{"one", "enter", "one", "enter", "up", "up"}, "one/one", "one", false},
		"nothing was sent":             {[]any{"half", "up", "down"}, "", "half", false},
		"pasted lines":                 {[]any{tea.PasteMsg{Content: "one\r\ntwo\tx"}, "enter"}, "one\ntwo\tx", "", false},
		"after Esc, s opens it again":  {[]any{"half", "esc", "s", "hi", "enter"}, "hi", "", false},
	} {
		b := opened(t, "api")
		for _, k := range test.keys {
			if name, ok := k.(string); ok {
				b.press(name)
			} else {
				b.does(k)
			}
		}
		var sent []string
		for _, a := range b.acts {
			if sent = append(sent, a.Text); a.Verb != Send || a.Member != "api" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if got := strings.Join(sent, "/"); got != test.sent || b.line.text() != test.typed || b.quit != test.quit {
			t.Errorf("%s: sent %q, typed %q, left %v", name, got, b.line.text(), b.quit)
		}
	}
}

// TestQuitsSoon: a lone q leaves after a moment, unless a key came after it.
func TestQuitsSoon(t *testing.T) {
	b := opened(t, "api")
	b.press("q")
	waited := quitSoonMsg{b.keys}
	b.press("u", "backspace")
	if b.does(waited); b.quit {
		t.Error("it leaves though keys came after the q")
	}
	if b.does(quitSoonMsg{b.keys}); !b.quit {
		t.Error("it does not leave")
	}
}

// TestKeepsWhatWasNotSent: a line that did not go out comes back to be tried again, but never over what
// is typed by then.
func TestKeepsWhatWasNotSent(t *testing.T) {
	b := opened(t, "api")
	b.fails = errRefused
	b.press("hello", "enter")
	b.shows("to api: hello", errRefused.Error())
	b.line.set("something else")
	b.does(doneMsg{typed: "hello", err: errRefused})
	b.shows("to api: something else")
	b.fails = nil
	b.press("enter")
	b.shows("done: send")
}

// TestCommands: a line with a colon in front is a command or an error, and never a text for the member.
func TestCommands(t *testing.T) {
	for line, want := range map[string]Act{
		":approve r1":                    {Verb: Approve, Request: "r1"},
		" :deny r1  use v2, now ":        {Verb: Deny, Request: "r1", Text: "use v2, now"},
		":interrupt":                     {Verb: Interrupt, Member: "api"},
		":hold docs":                     {Verb: Hold, Member: "docs"},
		":resume":                        {Verb: Release, Member: "api"},
		"approve r1":                     {Verb: Send, Member: "api", Text: "approve r1"},
		"/deny r1":                       {Verb: Send, Member: "api", Text: "/deny r1"},
		"see :deny r1":                   {Verb: Send, Member: "api", Text: "see :deny r1"},
		":help":                          {},
		":aprove r7":                     {},
		":":                              {},
		":resumé":                        {},
		":approve":                       {},
		":deny   ":                       {},
		":send x":                        {},
		":release":                       {},
		":merge":                         {},
		":D it works now, in both cases": {},
	} {
		b := opened(t, "api")
		b.press(line, "enter")
		if len(b.acts) > 1 || len(b.acts) == 1 && b.acts[0] != want || len(b.acts) == 0 && want != (Act{}) {
			t.Errorf("%q: %+v, want %+v", line, b.acts, want)
		}
		switch {
		case line == ":help":
			b.shows(commands[:40])
		case want == Act{}:
			b.shows("to api: " + strings.TrimSpace(line)) // it comes back
		}
	}
}

// TestScrollsWhileTyping: the keys that scroll do so above the typed line, Home and End while it is empty.
func TestScrollsWhileTyping(t *testing.T) {
	b := opened(t, "api")
	for i := range 40 {
		b.sees(teamtest.Line(20+i, "api", "text", `{"text":"more"}`))
	}
	b.press("home")
	b.shows("agent builtin/anthropic", "scrolled up")
	b.press("end")
	b.hides("scrolled up")
	b.press("text", "pgup")
	b.shows("scrolled up", "to api: text")
	b.press("end") // it goes to the newest line first, as long as that is not shown
	b.hides("scrolled up")
	b.press("home", "a ", "enter")
	if want := []Act{{Verb: Send, Member: "api", Text: "a text"}}; !slices.Equal(b.acts, want) {
		t.Errorf("%+v, want %+v", b.acts, want)
	}
}

// TestReadsOlderRows once, when somebody scrolls above those that the log has, and again after a failure.
func TestReadsOlderRows(t *testing.T) {
	b := newBoard(t, 80, 24)
	var asked []uint64
	var fails error
	answer := []*logRow{newLogRow(teamtest.Line(3, "api", "text", `{"text":"much older"}`).Event())}
	b.older = func(before uint64, member string) ([]*logRow, error) {
		if asked = append(asked, before); fails != nil {
			return nil, fails
		}
		return answer, nil
	}
	b.does(news{rows: []*logRow{newLogRow(teamtest.Line(5, "api", "text", `{"text":"old"}`).Event())}})
	b.frame()
	fails = fs.ErrPermission
	b.press("4", "enter", "pgup")
	b.shows("the journal cannot be read: " + fs.ErrPermission.Error())
	fails = nil
	b.press("ctrl+home")
	b.shows("much older")
	answer = nil
	b.press("pgup", "pgup", "shift+up")
	if want := []uint64{5, 5, 3}; !slices.Equal(asked, want) {
		t.Errorf("asked for what is before %v, want %v", asked, want)
	}
}

// TestOlder reads what has a text from the journal, in its order, until enough of it is of the member.
func TestOlder(t *testing.T) {
	teamtest.StateHome(t)
	b := Board{Place: teamtest.Place(t, "crew")}
	lines := played()[:0]
	for i := range 2 * olderRows {
		lines = append(lines, teamtest.Line(i, "api", "text", `{"text":"word."}`), teamtest.Line(0, "ben",
			"text", `{"text":"other"}`), teamtest.Line(0, "ana", "hook_summary", `{}`))
	}
	teamtest.WriteJournal(t, b.Place, lines...)
	log := newLog(nil)
	for _, want := range []uint64{uint64(3*olderRows) + 1, 1, 1} {
		before := log.oldest()
		if before == 0 {
			before = uint64(len(lines)) + 1
		}
		rows, err := b.older(before, "api")
		log.addOlder(rows)
		if err != nil || log.oldest() != want || len(rows) > 2*olderRows {
			t.Errorf("before %d: %d rows from %d on, %v; want them from %d on", before, len(rows), log.oldest(), err, want)
		}
	}
	if _, err := (Board{Place: state.Place{Dir: "/nowhere"}}).older(1, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a journal that is not there was read: %v", err)
	}
}

// TestTinyTyping: on a terminal without room for panes what is typed takes the place of the heading.
func TestTinyTyping(t *testing.T) {
	b := opened(t, "api")
	b.press("hello")
	for _, size := range [][2]int{{40, 3}, {19, 24}, {40, 1}} {
		b.does(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		b.shows("to api: hello")
		b.fits(t, "typing")
	}
}
