package view

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/teamtest"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
)

// TestLiveModel: keys, sizes and looks of the live view, without a terminal.
func TestLiveModel(t *testing.T) {
	pressed := 0
	s, _ := teamtest.Screen()
	view := NewLiveView(s, "crew", []string{"lead"}, func() { pressed++ })
	view.board.started = time.Time{}
	view.now = func() time.Time { return time.Time{}.Add(7 * time.Second) }
	m := &liveModel{view: view}
	if m.Init() == nil {
		t.Error("nothing asks to look at the board")
	}
	if v := m.View(); v.Content != "" || !v.AltScreen {
		t.Errorf("before its size is known it draws %q", v.Content)
	}
	m.Update(tea.WindowSizeMsg{Width: 60, Height: 12})
	view.Apply(teamtest.Line(1, "lead", "turn_started", `{"cause":"goal"}`).Event())
	view.Tell("stopping in order")
	view.News("the disk is full\x1b")
	content := m.View().Content
	for _, want := range []string{"covey: crew · 0 of 0 tasks done · 7s", "working", "stopping in order", `the disk is full\x1b`} {
		if !strings.Contains(content, want) {
			t.Errorf("no %q in\n%s", want, content)
		}
	}
	if _, cmd := m.Update(tickMsg{}); cmd == nil {
		t.Error("after one look there is no next")
	}
	m.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
	m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if pressed != 1 {
		t.Errorf("Ctrl-C was passed on %d times", pressed)
	}
	view.Stop() // before start it is a no-op
}

// TestLiveViewForce writes what brings any terminal back.
func TestLiveViewForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tty")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	view := NewLiveView(&term.Screen{Writer: file, File: file}, "crew", nil, nil)
	view.Force()
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "\x1b[?1049l") || !strings.Contains(string(data), "\x1b[?25h") {
		t.Errorf("%q (%v)", data, err)
	}
}

// attached is an attach view of a small terminal; sent and asked note what it
// asks of the outside.
type attached struct {
	*attachModel
	sent  []string
	asked []uint64
}

// newAttached returns an attach view with the words 5 to 9.
func newAttached(answer Answer) *attached {
	a := &attached{attachModel: &attachModel{pager: pagerOf(60, 8, 5, 9)}}
	a.send = func(text string) Answer {
		a.sent = append(a.sent, text)
		return answer
	}
	a.older = func(before uint64) ([]events.Line, error) {
		a.asked = append(a.asked, before)
		return []events.Line{textLine(3), textLine(4)}, nil
	}
	return a
}

// does passes a message in and runs what comes of it, until nothing does.
func (a *attached) does(msg tea.Msg) (last tea.Msg) {
	for msg != nil {
		_, cmd := a.Update(msg)
		last, msg = msg, nil
		if cmd != nil {
			msg = cmd()
		}
		if _, quits := msg.(tea.QuitMsg); quits {
			return msg
		}
	}
	return last
}

// types types text into the view, key by key.
func (a *attached) types(text string) (last tea.Msg) {
	for _, r := range text {
		key := tea.KeyPressMsg{Code: r, Text: string(r)}
		if r == '\r' {
			key = tea.KeyPressMsg{Code: tea.KeyEnter}
		}
		last = a.does(key)
	}
	return last
}

func TestAttachSends(t *testing.T) {
	a := newAttached(Answer{Text: "delivered to ana"})
	a.types("hello there\r\r")
	if !reflect.DeepEqual(a.sent, []string{"hello there"}) {
		t.Errorf("sent %q", a.sent)
	}
	if view := a.View().Content; !strings.Contains(view, "delivered to ana") {
		t.Errorf("view\n%s", view)
	}
	a.does(tea.PasteMsg{Content: "two\nlines"})
	a.types("\r")
	if a.sent[len(a.sent)-1] != "two\nlines" {
		t.Errorf("sent %q", a.sent)
	}
}

// TestAttachKeepsWhatWasNotSent: a line that did not go out comes back to be
// tried again, but never over what is typed by then.
func TestAttachKeepsWhatWasNotSent(t *testing.T) {
	a := newAttached(Answer{Text: "not sent: no such member", Unsent: "hello"})
	a.types("hello\r")
	if a.pager.line.Text() != "hello" || !a.pager.isBad {
		t.Errorf("typed %q, bad %t", a.pager.line.Text(), a.pager.isBad)
	}
	a.pager.line.Set("something else")
	a.does(Answer{Text: "not sent", Unsent: "hello"})
	if a.pager.line.Text() != "something else" {
		t.Errorf("typed %q", a.pager.line.Text())
	}
}

// TestAttachLeaves: by Ctrl-D at once, by a lone q after a moment, and not by a
// word that begins with it.
func TestAttachLeaves(t *testing.T) {
	quits := func(msg tea.Msg) bool {
		_, ok := msg.(tea.QuitMsg)
		return ok
	}
	a := newAttached(Answer{})
	if !quits(a.does(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})) {
		t.Error("Ctrl-D does not leave")
	}
	if !quits(a.types("q")) {
		t.Error("q does not leave")
	}
	a = newAttached(Answer{})
	a.pager.line.Set("qu")
	if quits(a.does(quitSoonMsg{})) {
		t.Error("a word that begins with q leaves")
	}
	a = newAttached(Answer{})
	a.pager.key(tea.KeyPressMsg{Code: 'q', Text: "q"})
	waited := quitSoonMsg{a.pager.keys}
	for _, k := range []tea.KeyPressMsg{{Code: 'u', Text: "u"}, {Code: tea.KeyBackspace}} {
		a.pager.key(k)
	}
	if quits(a.does(waited)) {
		t.Error("a q leaves though keys came after it")
	}
}

// TestAttachReadsOlderLines when the top is reached, and tries again after a
// failure.
func TestAttachReadsOlderLines(t *testing.T) {
	a := newAttached(Answer{})
	a.does(tea.KeyPressMsg{Code: tea.KeyHome})
	if !reflect.DeepEqual(a.asked, []uint64{5}) {
		t.Fatalf("asked for lines before %v", a.asked)
	}
	a.does(tea.KeyPressMsg{Code: tea.KeyHome})
	if view := a.View().Content; !strings.Contains(view, "word 3.") || a.asked[1] != 3 {
		t.Errorf("asked %v, view\n%s", a.asked, view)
	}
	a = newAttached(Answer{})
	a.older = func(uint64) ([]events.Line, error) { return nil, fs.ErrPermission }
	a.does(tea.KeyPressMsg{Code: tea.KeyHome})
	if a.pager.reading || !a.pager.isBad {
		t.Errorf("reading %t, bad %t after a failure", a.pager.reading, a.pager.isBad)
	}
}

// TestAttachSeesTheEnd: it says so and stays, for there is something to read.
func TestAttachSeesTheEnd(t *testing.T) {
	a := newAttached(Answer{})
	a.does(rowMsg{NewRow(textLine(10).Event())})
	a.does(overMsg{})
	view := a.View().Content
	if !a.over || !strings.Contains(view, "the team has ended; q leaves") || !strings.Contains(view, "word 10.") {
		t.Errorf("over %t, view\n%s", a.over, view)
	}
	a = newAttached(Answer{})
	a.does(overMsg{errors.New("no such file")})
	if a.over || !strings.Contains(a.View().Content, "no such file") {
		t.Errorf("over %t, view\n%s", a.over, a.View().Content)
	}
}

// TestAttachCursor stands behind what is typed, on every size.
func TestAttachCursor(t *testing.T) {
	a := newAttached(Answer{})
	a.types("abc")
	if c := a.View().Cursor; c == nil || c.X != 5 || c.Y != 7 {
		t.Errorf("cursor %+v, want 5, 7", c)
	}
	for _, size := range []tea.WindowSizeMsg{{Width: 1, Height: 2}, {Width: 3, Height: 5}, {Width: 2, Height: 40}} {
		a.does(size)
		if c := a.View().Cursor; c == nil || c.X >= size.Width || c.Y != size.Height-1 {
			t.Errorf("cursor %+v on %+v", c, size)
		}
	}
	a.does(tea.WindowSizeMsg{Width: 40, Height: 1})
	if a.View().Cursor != nil {
		t.Error("a cursor without a line to type in")
	}
}
