package board

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// maxSent is how many sent lines an inputLine remembers.
const maxSent = 500

// inputLine is the line that is typed on the board, and the lines that were sent. The
// library edits it; it is drawn here, because the library counts the columns before
// the cursor as characters, and some characters take two.
type inputLine struct {
	input textinput.Model
	sent  []string // oldest first
	at    int      // index of the line shown in sent; len(sent): the typed line
	draft string   // the typed line while one of sent is shown
}

// newInputLine returns an empty line.
func newInputLine() inputLine {
	input := textinput.New()
	input.KeyMap.Paste.SetEnabled(false) // the terminal pastes; the library would run a program to do it
	input.Focus()
	return inputLine{input: input}
}

// The library holds one line: it replaces line ends and tabs by blanks. So those of a
// pasted text are stored as characters that no text has, from the last private plane.
var (
	folded   = strings.NewReplacer("\r\n", "\U0010F00A", "\r", "\U0010F00A", "\n", "\U0010F00A", "\t", "\U0010F009")
	unfolded = strings.NewReplacer("\U0010F00A", "\n", "\U0010F009", "\t")
	drawn    = strings.NewReplacer("\U0010F00A", "⏎", "\U0010F009", " ")
)

// text returns what is typed.
func (t *inputLine) text() string { return unfolded.Replace(t.input.Value()) }

// set replaces the typed text and puts the cursor at its end.
func (t *inputLine) set(text string) {
	t.input.SetValue(folded.Replace(text))
	t.input.CursorEnd()
}

// insert inserts a text at the cursor. Its line ends are kept.
func (t *inputLine) insert(text string) {
	t.input, _ = t.input.Update(tea.PasteMsg{Content: folded.Replace(text)})
}

// key edits the line with the keys of a shell.
func (t *inputLine) key(k tea.KeyPressMsg) { t.input, _ = t.input.Update(k) }

// submit returns the typed text, remembers it, and empties the line.
func (t *inputLine) submit() string {
	text := strings.TrimSpace(t.text())
	if text != "" && (len(t.sent) == 0 || t.sent[len(t.sent)-1] != text) {
		t.sent = append(t.sent, text)
		t.sent = slices.Delete(t.sent, 0, max(0, len(t.sent)-maxSent))
	}
	t.at, t.draft = len(t.sent), ""
	t.set("")
	return text
}

// recall shows a line that was sent earlier or later than the one shown. After the
// last one comes the text that was typed and not sent.
func (t *inputLine) recall(by int) {
	to := t.at + by
	if to < 0 || to > len(t.sent) {
		return
	}
	if t.at == len(t.sent) {
		t.draft = t.text()
	}
	t.at = to
	if to == len(t.sent) {
		t.set(t.draft)
		return
	}
	t.set(t.sent[to])
}

// draw returns the part of the line that fits into width columns and contains the
// cursor, and the column of the cursor.
func (t *inputLine) draw(width int) (line string, cursor int) {
	if width <= 0 {
		return "", 0
	}
	text := []rune(t.input.Value())
	before, after := display(text[:t.input.Position()]), display(text[t.input.Position():])
	// The cursor after the last character needs a column, too.
	room := width - 1 - min(ansi.StringWidth(after), width/3)
	for all, cut := before, ansi.StringWidth(before)-room; ansi.StringWidth(before) > room; cut++ {
		before = ansi.TruncateLeft(all, cut, "") // keeps a wide character that the cut would split
	}
	cursor = ansi.StringWidth(before)
	return before + ansi.Truncate(after, width-cursor, ""), cursor
}

// display makes typed text plain and one line.
func display(text []rune) string { return term.Plain(drawn.Replace(string(text))) }
