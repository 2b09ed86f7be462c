package board

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// Sizes of a frame.
const (
	// footer is how many lines stand below the panes: what is typed or told, and the keys.
	footer = 2
	// leastWidth and leastHeight are the size below which only the heading and the keys are drawn.
	leastWidth, leastHeight = 20, 5
	// stackHeight is the least height in which all panes are drawn. In a lower one, the focused pane
	// is.
	stackHeight = 16
	// airyHeight is the least height in which empty lines separate the lists.
	airyHeight = 30
	// wideWidth is the least width in which the log stands beside the lists.
	wideWidth = 110
	// listShare is how many columns of a hundred the lists get beside the log.
	listShare = 46
	// between separates the lists from the log beside them.
	between = " │ "
)

// draw draws a frame: exactly as many lines as the terminal has, none wider than it.
func (m *model) draw() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	lines := m.headings()
	if room := m.height - len(lines) - footer; m.isTiny() {
		if m.typing != nil {
			lines[0] = m.status()
		}
	} else {
		body := m.body(room)
		for len(body) < room {
			body = append(body, "")
		}
		lines = append(lines, body[:room]...)
		lines = append(lines, m.status())
	}
	lines = append(lines, m.keyLine())
	lines = lines[:min(len(lines), m.height)]
	for i := range lines {
		lines[i] = term.Fit(lines[i], m.width)
	}
	return strings.Join(lines, "\n") + strings.Repeat("\n", m.height-len(lines))
}

// isTiny reports whether there is no room for panes.
func (m *model) isTiny() bool { return m.width < leastWidth || m.height < leastHeight }

// headings returns the lines above the panes.
func (m *model) headings() []string {
	lines := []string{m.heading()}
	if m.scene.bus != "" && m.height > stackHeight {
		style := term.Faint
		if m.scene.busBad {
			style = term.Yellow
		}
		lines = append(lines, m.screen.Paint(style, m.scene.bus))
	}
	return lines
}

// heading sums up the team. What matters most comes first, because a narrow terminal cuts the end.
func (m *model) heading() string {
	sc, text := m.scene, ""
	if sc.facts != "" {
		text = " · " + sc.facts
	}
	if !sc.started.IsZero() {
		end := sc.ended
		if end.IsZero() {
			end = m.now
		}
		text += " · " + term.Elapsed(end.Sub(sc.started))
	}
	return m.screen.Paint(term.Bold, "covey: "+m.team) + " · " + m.screen.Paint(sc.style, sc.word) + text
}

// body draws the panes.
func (m *model) body(height int) []string {
	switch {
	case m.help:
		return helpLines(height)
	case m.readsText():
		return m.wholeText(height)
	case m.whole:
		return m.logLines(m.width, height, 0)
	case m.focus == logOf && height < stackHeight:
		return m.logLines(m.width, height, 0)
	case height < stackHeight:
		lines := m.listLines(m.focus, m.width, min(height-1, max(height/2, 3)))
		return append(lines, m.logLines(m.width, height-len(lines), 0)...)
	case m.width >= wideWidth:
		return m.beside(height)
	}
	lines := m.listsLines(m.width, height, max(8, height*2/5))
	room, most := height-len(lines), 0
	if m.from != membersOf || m.chosen().style == term.Red { // else the row says enough
		most = room / 2
	}
	return append(lines, m.logLines(m.width, room, most)...)
}

// beside draws the lists on the left, and the log on the right.
func (m *model) beside(height int) []string {
	left := m.width * listShare / 100
	right := m.width - left - ansi.StringWidth(between)
	lists := m.listsLines(left, height, 0)
	log := m.logLines(right, height, height/2)
	lines := make([]string, height)
	for i := range lines {
		line := ""
		if i < len(lists) {
			line = lists[i]
		}
		lines[i] = term.Padded(line, left) + m.screen.Paint(term.Faint, between)
		if i < len(log) {
			lines[i] += log[i]
		}
	}
	return lines
}

// listsLines draws all lists in at most height lines but those that are kept for the log. On a high
// terminal there is an empty line below each if there is room.
func (m *model) listsLines(width, height, log int) []string {
	rows := m.share(height, log)
	used := lists + log
	for i := range rows {
		used += rows[i]
	}
	var lines []string
	for i, n := range rows {
		lines = append(lines, m.listLines(pane(i), width, n)...)
		if height >= airyHeight && height-used >= lists && len(m.lists[i].shown()) == n {
			lines = append(lines, "")
		}
	}
	return lines
}

// share divides the height among the lists: a row to each in turn, as long as it has one more to
// show. Titles and what is kept for the log are taken off before.
func (m *model) share(height, log int) (rows [lists]int) {
	free := height - lists - log
	for gave := true; gave && free > 0; {
		gave = false
		for i := range rows {
			if free > 0 && rows[i] < len(m.lists[i].shown()) {
				rows[i]++
				free--
				gave = true
			}
		}
	}
	return rows
}

// listLines draws the title of a list and at most height rows of it.
func (m *model) listLines(p pane, width, height int) []string {
	return m.pencil().list(p, &m.lists[p], p == m.focus, [2]int{width, height})
}

// pencil returns what draws lists.
func (m *model) pencil() pencil { return pencil{m.screen, m.now} }

// logLines draws what there is to read about the chosen row, in at most most lines, and the log.
func (m *model) logLines(width, height, most int) []string {
	r := m.chosen()
	var lines []string
	if text := m.reader.broken(m.about(), width); most > 2 && len(text) > 0 && r.key != "" {
		if len(text) > most-1 {
			text = slices.DeleteFunc(slices.Clone(text), func(line string) bool { return line == "" })
			text = append(text[:min(len(text), most-2)], "… Enter shows all")
		}
		lines = append(lines, m.pencil().title(false, m.subject(), term.Faint, width))
		lines = append(lines, text...)
	}
	title := "4 Log of the team"
	if r.member != "" {
		title = "4 Log of " + term.PlainLine(r.member)
	}
	if m.logFilter != "" {
		title += fmt.Sprintf(": lines that contain %q", m.logFilter)
	}
	if m.log.isUp() {
		title += " · scrolled up; Esc goes to the newest"
	}
	lines = append(lines, m.pencil().title(m.focus == logOf || m.whole, title, term.Faint, width))
	return append(lines, m.log.draw(width, max(0, height-len(lines)))...)
}

// subject names the chosen row.
func (m *model) subject() string {
	r := m.chosen()
	if m.from == tasksOf || m.readsChanges() {
		return strings.TrimRight("Task "+term.PlainLine(r.task)+" "+r.title, " ")
	}
	if r.request != "" {
		return term.PlainLine(r.request) + ": " + r.word + " of " + r.name
	}
	return r.name
}

// wholeText draws the text about the chosen row in the whole board.
func (m *model) wholeText(height int) []string {
	text, more := m.reader.window(m.about(), m.width, height-1)
	if m.readsChanges() {
		text = m.painted(text)
	}
	return append([]string{m.pencil().title(true, m.subject()+more, term.Faint, m.width)}, text...)
}

// painted paints lines of a diff, and of what is to be looked at first.
func (m *model) painted(lines []string) []string {
	painted := slices.Clone(lines)
	for i, line := range lines {
		for _, one := range []struct {
			begins string
			style  term.Style
		}{{"diff --git ", term.Bold}, {"+++ ", term.Faint}, {"--- ", term.Faint}, {"+", term.Green}, {"-", term.Red}, {"@@", term.Cyan}, {"⚠", term.Red}} {
			if strings.HasPrefix(line, one.begins) {
				painted[i] = m.screen.Paint(one.style, line)
				break
			}
		}
	}
	return painted
}

// label returns what stands before the typed line, and the columns that the line has.
func (m *model) label() (text string, room int) {
	room = m.width * 2 / 3
	if !m.typing.filter && (m.typing.confirm != "" || m.typing.deed.typed == nothing) { // little is typed, or nothing
		room = m.width - 2 - len(m.typing.confirm)
	}
	text = term.FitMiddle(m.typing.label, room) // its end says what to type
	return text, m.width - ansi.StringWidth(text)
}

// What is said when keys do nothing, because the team cannot be asked.
const (
	readOnly = "the team does not run: this is its last state, to read; covey up goes on"
	notYet   = "the team takes nothing at the moment: it starts, or ends"
)

// status draws the line above the keys: what is typed, what became of it, or the goal.
func (m *model) status() string {
	switch {
	case m.typing != nil:
		label, room := m.label()
		text, _ := m.line.draw(room)
		return m.screen.Paint(term.Bold, label) + text
	case m.notice != "":
		return m.noticed()
	case m.scene.stopped:
		return m.screen.Paint(term.Yellow, readOnly)
	case m.scene.goal != "":
		return m.screen.Paint(term.Faint, "goal: "+m.scene.goal)
	}
	return ""
}

// noticed draws what became of an act.
func (m *model) noticed() string {
	text := term.FitMiddle(m.notice, m.width) // its end says what to do
	if m.bad {
		return m.screen.Paint(term.Red, text)
	}
	return m.screen.Paint(term.Green, text)
}

// cursor returns where the cursor stands while somebody types.
func (m *model) cursor() (x, y int, ok bool) {
	if m.typing == nil {
		return 0, 0, false
	}
	label, room := m.label()
	_, at := m.line.draw(room)
	if !m.isTiny() {
		y = m.height - 2
	}
	return min(ansi.StringWidth(label)+at, m.width-1), y, true
}
