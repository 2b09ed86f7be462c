package board

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// boardOf is a board that a test gives lines of a journal and keys.
type boardOf struct {
	*model
	t     *testing.T
	state view.State
	up    bool   // the team runs
	until uint64 // the last line that was there
	acts  []Act  // what keys asked for
	fails error  // what they get
	quit  bool   // a key has left the board
	full  string // the full text of every question
	reads int    // how often one was read
}

// newBoard returns a board of a running team in a terminal of a size.
func newBoard(t *testing.T, width, height int) *boardOf {
	s, _ := teamtest.Screen()
	b := &boardOf{model: newModel(s, "crew"), t: t, up: true, full: "All of it."}
	b.now = teamtest.Line(75, "", "", "").Time
	b.do = func(a Act) (string, error) {
		b.acts = append(b.acts, a)
		return "done: " + string(a.Verb), b.fails
	}
	b.question = func(string) (string, error) { b.reads++; return b.full, nil }
	b.does(tea.WindowSizeMsg{Width: width, Height: height})
	return b
}

// does handles a message, and what its commands answer. Commands that wait for time are left out.
func (b *boardOf) does(msg tea.Msg) {
	if _, ticks := msg.(secondMsg); ticks {
		b.model.now = time.Time(msg.(secondMsg))
		return
	}
	_, cmd := b.Update(msg)
	if cmd == nil {
		return
	}
	switch answer := cmd().(type) {
	case nil, quitSoonMsg:
	case tea.QuitMsg:
		b.quit = true
	case tea.BatchMsg:
		for _, cmd := range answer {
			if answer := cmd(); answer != nil {
				b.does(answer)
			}
		}
	default:
		b.does(answer)
	}
}

// sees applies lines as the next ones of the journal, and shows them.
func (b *boardOf) sees(lines ...events.Line) {
	var n news
	for _, l := range lines {
		l.Seq = b.state.Seq + 1
		b.state.Apply(l.Event())
		n.rows = append(n.rows, newLogRow(l.Event()))
	}
	n.scene = b.look(members.Drafting{})
	b.does(n)
}

// look is the scene of what the board was given.
func (b *boardOf) look(drafts members.Drafting) scene {
	now := termview.Now{State: &b.state, Absent: api.ErrNotRunning, Drafts: drafts, Until: b.until}
	if b.up {
		now.Status, now.Absent = &api.Status{}, nil
	}
	return sceneOf(now, b.stop != nil)
}

// named are the keys that have no letter.
var named = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab},
	"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"shift+up": {Code: tea.KeyUp, Mod: tea.ModShift}, "shift+down": {Code: tea.KeyDown, Mod: tea.ModShift},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "backspace": {Code: tea.KeyBackspace},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd',
		Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
	"ctrl+home": {Code: tea.KeyHome, Mod: tea.ModCtrl}, "ctrl+end": {Code: tea.KeyEnd, Mod: tea.ModCtrl},
}

// press presses keys by their names; any other text is typed.
func (b *boardOf) press(keys ...string) {
	for _, k := range keys {
		if key, ok := named[k]; ok {
			b.does(key)
			continue
		}
		for _, r := range k {
			b.does(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// frame is what the board draws, without blanks at the ends of lines.
func (b *boardOf) frame() string {
	lines := strings.Split(b.View().Content, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// shows fails unless the frame contains texts.
func (b *boardOf) shows(texts ...string) {
	b.t.Helper()
	frame := b.frame()
	for _, text := range texts {
		if !strings.Contains(frame, text) {
			b.t.Errorf("no %q in\n%s", text, frame)
		}
	}
}

// hides fails if the frame contains one of texts.
func (b *boardOf) hides(texts ...string) {
	b.t.Helper()
	frame := b.frame()
	for _, text := range texts {
		if strings.Contains(frame, text) {
			b.t.Errorf("%q in\n%s", text, frame)
		}
	}
}

// task is a line about a task.
func task(at int, op, id, status, owner, blockedBy string) events.Line {
	subjects := map[string]string{"1": "Add the endpoint", "2": "Describe it 世界",
		"3": "Cover it with tests", "4": "Tag the release"}
	return teamtest.Line(at, owner, "task", fmt.Sprintf(
		`{"op":%q,"task":{"id":%q,"subject":%q,"status":%q,"owner":%q,"blockedBy":[%s]}}`, op, id, subjects[id], status, owner, blockedBy))
}

// asks is a line with a question to the operator.
func asks(at int, id, kind, member, text string) events.Line {
	l := teamtest.Line(at, member, "", "")
	return teamtest.Line(at, member, "request", fmt.Sprintf(
		`{"id":%q,"kind":%q,"member":%q,"to":"operator","text":%q,"state":"open","created":%q,"deadline":%q}`,
		id, kind, member, text, l.Time.Format(time.RFC3339), l.Time.Add(10*time.Minute).Format(time.RFC3339)))
}

// played are the lines of a team in the middle of a run.
func played() []events.Line {
	lines := []events.Line{
		teamtest.Line(0, "", "team_started", `{"goal":"Ship the changelog endpoint.","members":["lead","api","docs"]}`),
		task(0, "created", "1", "pending", "api", ""),
		task(0, "created", "2", "pending", "docs", `"1"`),
		task(0, "created", "3", "pending", "", ""),
		task(0, "created", "4", "pending", "", `"1","2"`),
		teamtest.Line(1, "lead", "member_started", `{"agent":"builtin/script"}`),
		teamtest.Line(1, "api", "member_started", `{"agent":"builtin/anthropic"}`),
		teamtest.Line(1, "docs", "member_started", `{"agent":"acp/codex"}`),
		teamtest.Line(2, "api", "turn_started", `{"cause":"task","prompt":"You own task 1."}`),
		task(3, "claimed", "1", "in_progress", "api", ""),
		teamtest.Line(4, "api", "text", `{"text":"I look at the router first, because every route of the service is named there."}`),
		teamtest.Line(5, "api", "hook_feedback", `{"event":"TaskCompleted","text":"TaskCompleted hook feedback:\nthe tests fail"}`),
		teamtest.Line(6, "api", "tool_call", `{"id":"t1","name":"Bash","input":{"command":"git push origin main"}}`),
		task(7, "completed", "3", "completed", "lead", ""),
		teamtest.Line(8, "", "merge", `{"id":"1","member":"lead","tasks":["3"],"title":"Cover it with tests","state":"waiting","into":"main","branch":"covey/crew/lead","commit":"0123456789abcdef"}`),
		teamtest.Line(9, "docs", "needs_attention", `{"reason":"8 refusals in a row"}`),
		asks(10, "r1", "permission", "api", "api asks to use Bash: git push origin main"),
		teamtest.Line(10, "api", "waiting", `{"kind":"answer","for":"permission to use Bash: git push origin main"}`),
	}
	return lines
}

// errRefused is what a team says that refuses.
var errRefused = errors.New("team crew: somebody has answered it")
