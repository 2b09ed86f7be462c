package board

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestOwnTeam: the board of a team that this process runs stops it with Ctrl-C, and is not left by a key;
// neither its start nor its end is taken for that of a team that does not run.
func TestOwnTeam(t *testing.T) {
	b := newBoard(t, 80, 24)
	stopped := 0
	b.stop = func() { stopped++ }
	b.up = false
	b.sees()
	b.shows("covey: crew · starts", "Ctrl-C stop")
	b.press("s")
	b.shows(notYet)
	b.sees(played()...)
	b.shows("covey: crew · needs you")
	b.hides(readOnly)
	for _, keys := range [][]string{{"q"}, {"esc"}, {"ctrl+d"}} {
		b.press(keys...)
		b.shows(b.wayOut())
	}
	b.up = true
	b.sees()
	b.press("2", "home", "s", "hello", "ctrl+c", "enter")
	if len(b.acts) != 1 || stopped != 1 || b.quit {
		t.Errorf("did %v, stopped %d times, left %v", b.acts, stopped, b.quit)
	}
	b.up = false
	b.sees(teamtest.Line(60, "", "team_ended", `{"reason":"told to stop","exit_code":1}`))
	b.shows("covey: crew · ended: told to stop")
}

// TestSuspends: Ctrl-Z stops the program wherever the person is, as it does without a board.
func TestSuspends(t *testing.T) {
	for _, keys := range [][]string{nil, {"?"}, {"s", "text"}, {"/", "x"}} {
		b := newBoard(t, 80, 24)
		b.sees(played()...)
		b.press(keys...)
		_, cmd := b.Update(named["ctrl+z"])
		if batch, ok := cmd().(tea.BatchMsg); ok {
			cmd = batch[0]
		}
		if msg, ok := cmd().(tea.SuspendMsg); !ok {
			t.Errorf("after %q Ctrl-Z sends %T", keys, msg)
		}
	}
}

// TestSequences: what is not shown is written once, and kept until the terminal has it.
func TestSequences(t *testing.T) {
	b := newBoard(t, 80, 24)
	arrived := &tray{feed: view.NewFeed(teamtest.Place(t, "crew"))}
	b.sequences, b.sent = arrived.waiting, arrived.sent
	l := &Live{arrived: arrived}
	l.Send("one")
	l.Send("two")
	if _, cmd := b.Update(news{}); cmd == nil || cmd() != (tea.RawMsg{Msg: "onetwo"}) {
		t.Error("nothing is written")
	}
	l.Send("three")
	if _, cmd := b.Update(news{}); cmd != nil {
		t.Error("it is written twice")
	}
	if _, cmd := b.Update(tea.RawMsg{Msg: "onetwo"}); arrived.waiting() != "three" || cmd == nil || cmd() != (tea.RawMsg{Msg: "three"}) {
		t.Errorf("%q waits", arrived.waiting())
	}
	for range 2 * maxSequences {
		l.Send("x")
	}
	if n := len(arrived.sequences); n != maxSequences {
		t.Errorf("%d wait", n)
	}
}

// TestLive: on a terminal the board of a team in this process shows what covey itself says; the terminal
// gets all of it before End returns, and is then as it was.
func TestLive(t *testing.T) {
	teamtest.StateHome(t)
	s, _, printed := terminal(t)
	l := Board{Place: teamtest.Place(t, "crew")}.Start(s.File, s, func() {})
	if !printed("covey: crew · starts") {
		t.Error("the team is not shown")
	}
	l.Up() // nobody answers
	l.News("the disk is full\x1b")
	if !printed(`covey      the disk is full\x1b`) {
		t.Error("a problem of covey's own is not in the log")
	}
	l.Tell("stopping in order")
	if !printed("stopping in order") {
		t.Error("a notice is not shown")
	}
	l.Send("\x1b]9;the end\a")
	l.End()
	l.End()
	select {
	case <-l.done:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if _, err := s.File.WriteString("<end>"); err != nil || !printed("<end>") {
		t.Error(err)
	}
}

// TestLiveOfNoTerminal: keys do not come from what is no terminal, and a closed one ends the board alone.
func TestLiveOfNoTerminal(t *testing.T) {
	teamtest.StateHome(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	l := Board{Place: teamtest.Place(t, "crew")}.Start(strings.NewReader("\x03"), &term.Screen{Writer: file, File: file},
		func() { t.Error("a key that is none") })
	l.News("one")
	l.Up()
	l.End()
}

// TestForce writes what brings any terminal back.
func TestForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tty")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	l := &Live{screen: &term.Screen{Writer: file, File: file}, restore: func() {}}
	l.Force()
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "\x1b[?1049l") || !strings.Contains(string(data), "\x1b[?25h") {
		t.Errorf("%q (%v)", data, err)
	}
}
