package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// quitDelay is how long a lone q waits for more to be typed before it leaves.
// Longer than anybody takes for the second letter of a word, and short enough
// not to feel like waiting.
const quitDelay = 500 * time.Millisecond

// olderLines is how many entries are read at a time when somebody scrolls up. A
// few screens: more would delay the first one, less would ask at every key.
const olderLines = 200

// The messages of the attach view.
type (
	lineMsg    journal.Line        // the journal grew
	olderMsg   []journal.Line      // lines before the oldest one here
	noOlderMsg struct{ err error } // they cannot be read
	sentMsg    struct {            // a typed line was answered
		text   string
		unsent string // what was typed, if it was not sent
	}
	overMsg     struct{ err error } // the journal ends; err: because it cannot be read
	quitSoonMsg struct{ keys int }  // a q on an empty line has waited; keys: how many there were by then
)

// attachModel runs a pager in the terminal library. All that reaches outside is
// in send and older, which it calls beside the screen's own loop: a team that
// is slow to answer must not freeze the keys.
type attachModel struct {
	pager *pager
	send  func(text string) tea.Msg   // gives a typed line to the member
	older func(before uint64) tea.Msg // reads lines from before that one
	over  bool                        // the team has ended
}

// onTerminal shows the pager until somebody leaves it. Both the screen and the
// reader of the journal end with this function: leaving the screen ends the
// reader, while the end of the journal leaves the screen up, for there is
// something to read on it.
func (a *attachment) onTerminal(ctx context.Context, tail []journal.Line, follow follower) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	title := "covey: " + a.place.Team
	if a.member != "" {
		title += " · " + a.member
	}
	m := &attachModel{
		pager: &pager{screen: a.cli.out, title: title, line: newTyping()},
		send:  func(text string) tea.Msg { return a.send(ctx, text) },
		older: a.older,
	}
	for _, l := range tail {
		m.pager.add(l)
	}
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(a.cli.in), tea.WithOutput(a.cli.out.file))
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		err := follow(ctx, func(l journal.Line) error {
			program.Send(lineMsg(l))
			return nil
		})
		program.Send(overMsg{err})
	}()
	_, err := program.Run()
	cancel()
	<-followed
	if err != nil {
		return err
	}
	if m.over {
		a.cli.out.printf("%s has ended; covey ps tells how\n", a.place.Team)
	} else {
		a.cli.out.printf("left; %s goes on\n", a.place.Team)
	}
	return nil
}

// Init has nothing to ask for.
func (m *attachModel) Init() tea.Cmd { return nil }

// Update takes keys, sizes and what happens in the team. It is called for one
// message at a time, so nothing in the pager needs a lock.
func (m *attachModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.pager.width, m.pager.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.carryOut(m.pager.key(msg))
	case tea.PasteMsg:
		m.pager.keys++
		m.pager.line.insert(msg.Content)
	case quitSoonMsg:
		if m.pager.keys == msg.keys && m.pager.line.text() == quitLine {
			return m, tea.Quit
		}
	case lineMsg:
		m.pager.add(journal.Line(msg))
	case olderMsg:
		m.pager.addOlder(msg)
	case noOlderMsg:
		m.pager.reading = false
		m.pager.say("the journal cannot be read: "+msg.err.Error(), true)
	case sentMsg:
		m.pager.answer(msg.text, msg.unsent)
	case overMsg:
		m.over = msg.err == nil
		m.pager.say("the team has ended; q leaves", false)
		if msg.err != nil {
			m.pager.say("the journal cannot be read: "+msg.err.Error(), true)
		}
	}
	return m, nil
}

// carryOut does what a key has asked for. Commands run beside the loop, and
// their answers come back as messages; nothing here may wait.
func (m *attachModel) carryOut(a ask) tea.Cmd {
	switch {
	case a.leave:
		return tea.Quit
	case a.suspend:
		return tea.Suspend
	case a.leaveSoon:
		msg := quitSoonMsg{m.pager.keys}
		return tea.Tick(quitDelay, func(time.Time) tea.Msg { return msg })
	case a.older:
		before := m.pager.oldest()
		return func() tea.Msg { return m.older(before) }
	case a.send != "":
		m.pager.say("sending…", false)
		return func() tea.Msg { return m.send(a.send) }
	}
	return nil
}

// send gives a typed line to the member. A team that does not answer in time
// has not said no: the error says so, and the line can be sent again.
func (a *attachment) send(ctx context.Context, text string) tea.Msg {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if strings.HasPrefix(text, ":") {
		return a.order(ctx, text)
	}
	to := a.who()
	reply, err := a.client.Send(ctx, orchestrator.Send{To: to, Text: text})
	if err != nil {
		return sentMsg{fmt.Sprintf("not sent: %v", err), text}
	}
	return sentMsg{text: deliveryText(reply.Delivery, to)}
}

// older reads lines from before the oldest one on the screen. The file is read
// backwards from where the screen's history begins, so that the length of the
// journal does not matter.
func (a *attachment) older(before uint64) tea.Msg {
	var lines olderMsg
	for l, err := range journal.Backwards(a.path, before) {
		if err != nil {
			return noOlderMsg{err}
		}
		if a.tells(l) {
			lines = append(lines, l)
		}
		if len(lines) == olderLines {
			break
		}
	}
	slices.Reverse(lines)
	return lines
}

// View draws the pager, with the cursor where it stands in what is typed.
func (m *attachModel) View() tea.View {
	p := m.pager
	view := tea.View{AltScreen: true, Content: p.view()}
	if p.width > 0 && p.height >= 2 {
		_, at := p.line.view(p.width - 2)
		view.Cursor = tea.NewCursor(min(2+at, p.width-1), p.height-1)
	}
	return view
}
