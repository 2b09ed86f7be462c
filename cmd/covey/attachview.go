package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/orchestrator"
)

// quitDelay is how long a lone q waits for more to be typed before it leaves.
const quitDelay = 500 * time.Millisecond

// olderLines is how many entries are read at a time when somebody scrolls up.
const olderLines = 200

// The messages of the attach view.
type (
	lineMsg  orchestrator.Line   // the journal grew
	olderMsg []orchestrator.Line // lines before the oldest one here
	sentMsg  struct {            // a typed line was answered
		text string
		bad  bool
	}
	overMsg     struct{ err error } // the journal ends; err: because it cannot be read
	quitSoonMsg struct{}            // a lone q has waited
)

// attachModel runs a pager in the terminal library.
type attachModel struct {
	*attachment
	pager *pager
	ctx   func() context.Context
	over  bool // the team has ended
}

// onTerminal shows the pager until somebody leaves it.
func (a *attachment) onTerminal(ctx context.Context, tail []orchestrator.Line, follow follower) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	title := "covey: " + a.place.Team
	if a.member != "" {
		title += " · " + a.member
	}
	m := &attachModel{attachment: a, ctx: func() context.Context { return ctx },
		pager: &pager{screen: a.cli.out, title: title}}
	for _, l := range tail {
		m.pager.add(l)
	}
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(a.cli.in), tea.WithOutput(a.cli.out.file))
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		err := follow(ctx, func(l orchestrator.Line) error {
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

// Update takes keys, sizes and what happens in the team.
func (m *attachModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.pager.width, m.pager.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.carryOut(m.pager.key(msg))
	case tea.PasteMsg:
		m.pager.insert(msg.Content)
	case quitSoonMsg:
		if m.pager.typed == quitLine {
			return m, tea.Quit
		}
	case lineMsg:
		m.pager.add(orchestrator.Line(msg))
	case olderMsg:
		m.pager.addOlder(msg)
	case sentMsg:
		m.pager.say(msg.text, msg.bad)
	case overMsg:
		m.over = msg.err == nil
		m.pager.say("the team has ended; q leaves", false)
		if msg.err != nil {
			m.pager.say("the journal cannot be read: "+msg.err.Error(), true)
		}
	}
	return m, nil
}

// carryOut does what a key has asked for.
func (m *attachModel) carryOut(a ask) tea.Cmd {
	switch {
	case a.leave:
		return tea.Quit
	case a.leaveSoon:
		return tea.Tick(quitDelay, func(time.Time) tea.Msg { return quitSoonMsg{} })
	case a.older:
		before := m.pager.oldest()
		return func() tea.Msg { return m.older(before) }
	case a.send != "":
		m.pager.say("sending…", false)
		return func() tea.Msg { return m.send(a.send) }
	}
	return nil
}

// send gives a typed line to the member.
func (m *attachModel) send(text string) tea.Msg {
	ctx, cancel := context.WithTimeout(m.ctx(), answerWithin)
	defer cancel()
	to := m.who()
	reply, err := m.client.Send(ctx, orchestrator.Send{To: to, Text: text})
	if err != nil {
		return sentMsg{fmt.Sprintf("not sent: %v", err), true}
	}
	return sentMsg{deliveryText(reply.Delivery, to), false}
}

// older reads lines from before the oldest one on the screen.
func (m *attachModel) older(before uint64) tea.Msg {
	var lines olderMsg
	for l, err := range orchestrator.JournalBackwards(m.path, before) {
		if err != nil {
			return sentMsg{fmt.Sprintf("the journal cannot be read: %v", err), true}
		}
		if m.tells(l) {
			lines = append(lines, l)
		}
		if len(lines) == olderLines {
			break
		}
	}
	slices.Reverse(lines)
	return lines
}

// View draws the pager, with the cursor behind what is typed.
func (m *attachModel) View() tea.View {
	p := m.pager
	view := tea.View{AltScreen: true, Content: p.view()}
	if p.width > 0 && p.height >= 2 {
		x := min(2+ansi.StringWidth(tail(p.typed, p.width-3)), p.width-1)
		view.Cursor = tea.NewCursor(x, p.height-1)
	}
	return view
}
