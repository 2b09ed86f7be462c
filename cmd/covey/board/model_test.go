package board

import (
	"fmt"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestKeysAct: what keys ask the team for, whom it is about, and what is typed for it.
func TestKeysAct(t *testing.T) {
	for name, test := range map[string]struct {
		keys []string
		want []Act
	}{
		"approve": {[]string{"1", "down", "a", "enter"},
			[]Act{{Verb: Approve, Request: "r1"}}},
		"approve with a text": {[]string{"1", "down", "a", "on main only", "enter"},
			[]Act{{Verb: Approve, Request: "r1", Text: "on main only"}}},
		"deny": {[]string{"1", "down", "d", "not now", "enter"},
			[]Act{{Verb: Deny, Request: "r1", Text: "not now"}}},
		"think better of it": {[]string{"1", "down", "d", "not", "esc"}, nil},
		"a letter while typing": {[]string{"1", "down", "d", "q", "enter"},
			[]Act{{Verb: Deny, Request: "r1", Text: "q"}}},
		"no question": {[]string{"2", "down", "a", "enter"}, nil},
		"a message to a member": {[]string{"2", "down", "down", "s", "hello", "enter"},
			[]Act{{Verb: Send, Member: "api", Text: "hello"}}},
		"a message to the lead": {[]string{"2", "home", "s", "hello", "enter"},
			[]Act{{Verb: Send, Text: "hello"}}},
		"an empty message": {[]string{"2", "home", "s", "  ", "enter", "esc"}, nil},
		"a message to who needs help": {[]string{"1", "s", "go on", "enter"},
			[]Act{{Verb: Send, Member: "docs", Text: "go on"}}},
		"the text of the last":       {[]string{"1", "s", "go on", "enter", "s", "up", "enter"}, []Act{{Verb: Send, Member: "docs", Text: "go on"}, {Verb: Send, Member: "docs", Text: "go on"}}},
		"hold":                       {[]string{"2", "end", "h"}, []Act{{Verb: Hold, Member: "docs"}}},
		"the whole team is not held": {[]string{"2", "home", "h"}, nil},
		"interrupt": {[]string{"2", "down", "down", "i", "enter"},
			[]Act{{Verb: Interrupt, Member: "api"}}},
		"interrupt takes no text": {[]string{"2", "down", "down", "i", "not", "up", "enter"},
			[]Act{{Verb: Interrupt, Member: "api"}}},
		"merge": {[]string{"3", "j", "j", "m", "enter"},
			[]Act{{Verb: Merge, Task: "3"}}},
		"send back": {[]string{"3", "j", "j", "r", "more tests", "enter"},
			[]Act{{Verb: Return, Task: "3", Text: "more tests"}}},
		"a task that is not done": {[]string{"3", "m", "r", "enter"}, nil},
		"the owner of a task": {[]string{"3", "s", "well?", "enter"},
			[]Act{{Verb: Send, Member: "api", Text: "well?"}}},
		"the row stays while in its log": {[]string{"2", "down", "down", "4", "s", "hi", "enter"},
			[]Act{{Verb: Send, Member: "api", Text: "hi"}}},
	} {
		b := newBoard(t, 80, 24)
		b.sees(played()...)
		b.press(test.keys...)
		if !slices.Equal(b.acts, test.want) {
			t.Errorf("%s: %+v, want %+v\n%s", name, b.acts, test.want, b.frame())
		}
	}
}

// TestReleases: the key that holds a member lets it go on once it is held.
func TestReleases(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	b.sees(teamtest.Line(20, "lead", "member_held", `{"by":"operator"}`))
	b.press("2", "down")
	b.shows("> lead  held", "h release")
	b.press("h")
	if want := []Act{{Verb: Release, Member: "lead"}}; !slices.Equal(b.acts, want) {
		t.Errorf("%+v, want %+v", b.acts, want)
	}
}

// TestSaysWhatBecame of an act: its result or why it failed, until the next key.
func TestSaysWhatBecame(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	b.press("2", "end", "h")
	b.shows("done: hold")
	b.fails = errRefused
	b.press("h")
	b.shows(errRefused.Error())
	b.press("up")
	b.hides(errRefused.Error())
}

// TestAnswersWhatWasRead: while somebody types, other questions come and that one goes; the answer
// is to the question whose name stands there.
func TestAnswersWhatWasRead(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	b.press("1", "down", "a")
	b.sees(asks(11, "r2", "permission", "lead", "lead asks to use Bash: rm -rf /"),
		teamtest.Line(12, "api", "request", `{"id":"r1","kind":"permission","member":"api","to":"operator","state":"withdrawn"}`))
	b.shows("approve r1 of api (a text may go along)", "> lead")
	b.press("enter")
	if want := []Act{{Verb: Approve, Request: "r1"}}; !slices.Equal(b.acts, want) {
		t.Errorf("%+v, want %+v", b.acts, want)
	}
}

// TestFirstFocus: until the first key, a new question gets the focus; later none takes it away.
func TestFirstFocus(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()[:14]...)
	b.shows("═ 2 Members", "> all")
	b.sees(played()[14:]...)
	b.shows("═ 1 Needs you (3)", "> docs")
	b = newBoard(t, 80, 24)
	b.sees(played()[:14]...)
	b.press("down")
	b.sees(played()[14:]...)
	b.shows("═ 2 Members", "> lead", "1 Needs you (3)")
}

// TestReadsTheJournal: until the journal is read, the board does not take the past for the present.
func TestReadsTheJournal(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.until = 20
	b.sees(played()[:5]...)
	b.shows("covey: crew · reading the journal, 25 % · done 0 of 4")
	b.sees(played()[5:]...)
	b.sees(teamtest.Line(20, "lead", "text", `{"text":"One."}`), teamtest.Line(20, "lead", "text", `{"text":"Two."}`),
		teamtest.Line(20, "lead", "text", `{"text":"Three."}`))
	b.shows("covey: crew · needs you")
}

// TestLongList: the title of a list that has no room for all says which rows are shown, and the
// chosen one is among them.
func TestLongList(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	for i := range 30 {
		b.sees(teamtest.Line(20, "", "task", fmt.Sprintf(`{"op":"created","task":{"id":"%d","subject":"More","status":"pending"}}`, i+5)))
	}
	b.shows("3 Tasks (34) · 1 to 3")
	b.press("3", "end")
	b.shows("· 32 to 34", "> 34")
	b.press("up", "up")
	b.shows("> 32")
}

// TestChoiceStays: the chosen row is the same one wherever it is in the list, and its neighbour
// when it is gone.
func TestChoiceStays(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	b.press("1", "down")
	b.shows("> api")
	b.sees(teamtest.Line(20, "docs", "turn_started", `{"cause":"person","prompt":"Go on."}`))
	b.shows("1 Needs you (2)", "> api")
	b.sees(teamtest.Line(12, "api", "request", `{"id":"r1","kind":"permission","member":"api","to":"operator","state":"denied"}`))
	b.shows("1 Needs you (1)", "> lead")
	b.sees(teamtest.Line(21, "", "merge", `{"id":"1","member":"lead","tasks":["3"],"state":"merged"}`))
	b.shows("1 Nothing needs you")
	if got := b.chosen(); got.key != "" {
		t.Errorf("%+v is chosen of nothing", got)
	}
	b.press("a")
	b.shows("there is nothing to approve here")
}

// TestFilters: each pane has its own filter, which works while it is typed and which Esc removes.
func TestFilters(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	b.press("2", "/", "API")
	b.shows("> api", `2 Members: 1 of 4 contain "API"`, "1 Needs you (3)")
	b.hides("  docs  needs attention")
	b.press("enter", "3", "/", "world", "enter")
	b.shows(`3 Tasks: 0 of 4 contain "world"`, `2 Members: 1 of 4 contain "API"`)
	b.press("esc")
	b.shows("3 Tasks (4)")
	b.press("2", "esc")
	b.shows("2 Members (3)", "> api")
	b.press("4", "/", "router", "enter")
	b.shows(`lines that contain "router"`, "I look at the router first")
	b.hides("calls Bash")
	b.press("/", "esc")
	b.shows("calls Bash")
}

// TestWaysOut: Esc leads one step out of whatever is open, q leaves from everywhere but a typed
// line, Ctrl-C from there, too.
func TestWaysOut(t *testing.T) {
	for _, keys := range [][]string{
		{"q"}, {"ctrl+c"}, {"ctrl+d"}, {"?", "esc", "q"}, {"?", "q", "q"}, {"enter", "q"}, {"enter",
			"esc", "q"}, {"4", "enter", "q"},
		{"1", "down", "d", "text", "esc", "q"}, {"d", "ctrl+c"}, {"1", "down", "d", "text",
			"ctrl+c"}, {"/", "x", "ctrl+c"},
		{"/", "x", "esc", "q"}, {"/", "x", "enter", "q"}, {"?", "ctrl+c"}, {"pgup", "q"},
	} {
		b := newBoard(t, 80, 24)
		b.sees(played()...)
		for i, k := range keys {
			if b.quit {
				t.Errorf("%q leaves after %d", keys, i)
			}
			b.press(k)
		}
		if !b.quit || len(b.acts) > 0 {
			t.Errorf("%q: left %v, did %v", keys, b.quit, b.acts)
		}
	}
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	b.press("esc", "esc")
	b.shows("q leaves the board; the team goes on")
}

// TestPaste: a text is pasted into the typed line only. Elsewhere its letters would be keys.
func TestPaste(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	b.does(tea.PasteMsg{Content: "qa\nh"})
	b.press("s")
	b.does(tea.PasteMsg{Content: "one\ntwo"})
	b.press("enter")
	b.press("i")
	b.does(tea.PasteMsg{Content: "one"})
	b.shows("interrupt docs?\n")
	b.press("esc")
	if want := []Act{{Verb: Send, Member: "docs", Text: "one\ntwo"}}; b.quit || !slices.Equal(b.acts, want) {
		t.Errorf("%+v, want %+v", b.acts, want)
	}
}

// TestStoppedTeam: a board of a team that does not run can be read, says so, and does nothing;
// once the team runs again, keys act again.
func TestStoppedTeam(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.up = false
	b.sees(played()...)
	b.shows("was cut off; covey up goes on", readOnly, "> docs  attention", "2 Members (3)")
	b.press("1", "down", "a", "enter", "d", "s", "h", "i", "3", "j", "j", "m", "r")
	if len(b.acts) > 0 {
		t.Errorf("asked nobody for %+v", b.acts)
	}
	b.shows("Cover it with tests", readOnly)
	b.up = true
	b.sees(teamtest.Line(70, "", "team_started", `{"goal":"Ship it.","members":["lead","api"],"format":1,"resumed":true}`))
	b.press("2", "end")
	b.shows("goal: Ship it.", "> api", "h hold", "2 Members (2)")
}

// TestFreshTeam: nothing of the old journal stays when another begins.
func TestFreshTeam(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(played()...)
	fresh := newBoard(t, 80, 24)
	b.does(news{scene: fresh.look(members.Drafting{}), fresh: true})
	b.hides("api", "docs", "12:00")
	b.shows("1 Nothing needs you", "2 Members (0)", "3 Tasks (0)")
}

// TestReadsQuestion: the full text of the chosen question is read once.
func TestReadsQuestion(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.full = "The plan:\n\x1b[2J one\n two\u202e\n" + "long "
	b.sees(played()...)
	if b.reads != 0 {
		t.Error("a member in trouble has no question to read")
	}
	b.press("1", "down")
	b.shows("r1: permission of api", "The plan:", `\x1b[2J one`)
	b.press("up", "down", "enter")
	b.shows(` two\u202e`, "long")
	if b.reads != 1 {
		t.Errorf("read %d times", b.reads)
	}
}

// TestWholeTextScrolls through a question that is longer than the terminal.
func TestWholeTextScrolls(t *testing.T) {
	b := newBoard(t, 80, 12)
	b.full = "first\n" + string(slices.Repeat([]byte("x\n"), 40)) + "last"
	b.sees(played()...)
	b.press("1", "down", "enter")
	b.shows("first", "8 of 42 lines; PgDn goes on")
	b.press("pgdown", "down")
	b.hides("first", "last")
	b.press("end", "down")
	b.shows("last")
	b.press("home")
	b.shows("first")
	b.press("esc")
	b.shows("1 Needs you (3)")
}
