package view

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// maxSent is how many lines that were sent attach remembers.
const maxSent = 500

// typing is the line that is typed in attach, and the lines that were sent before. The
// library edits it; it is drawn here, because the library counts the columns before the
// cursor as characters, and some characters take two.
type typing struct {
	input textinput.Model
	sent  []string // oldest first
	at    int      // which of sent stands in the line; len(sent): none, what is typed does
	draft string   // what was typed before one of sent took its place
}

// newTyping is an empty line.
func newTyping() typing {
	input := textinput.New()
	input.KeyMap.Paste.SetEnabled(false) // the terminal pastes; this one runs programs to do it
	input.Focus()
	return typing{input: input}
}

// The library keeps one line: it makes blanks of line ends and tabs. So those of a pasted
// text stand in it as characters that no text has, of the last private plane.
var (
	folded   = strings.NewReplacer("\r\n", "\U0010F00A", "\r", "\U0010F00A", "\n", "\U0010F00A", "\t", "\U0010F009")
	unfolded = strings.NewReplacer("\U0010F00A", "\n", "\U0010F009", "\t")
	drawn    = strings.NewReplacer("\U0010F00A", "⏎", "\U0010F009", " ")
)

// text is what is typed.
func (t *typing) text() string { return unfolded.Replace(t.input.Value()) }

// set puts a text in place of what is typed, and the cursor behind it.
func (t *typing) set(text string) {
	t.input.SetValue(folded.Replace(text))
	t.input.CursorEnd()
}

// insert puts a text where the cursor is. Its lines stay lines.
func (t *typing) insert(text string) {
	t.input, _ = t.input.Update(tea.PasteMsg{Content: folded.Replace(text)})
}

// key edits the line. The keys are those of a shell's line.
func (t *typing) key(k tea.KeyPressMsg) { t.input, _ = t.input.Update(k) }

// take returns what is typed, remembers it, and empties the line.
func (t *typing) take() string {
	text := strings.TrimSpace(t.text())
	if text != "" && (len(t.sent) == 0 || t.sent[len(t.sent)-1] != text) {
		t.sent = append(t.sent, text)
		t.sent = slices.Delete(t.sent, 0, max(0, len(t.sent)-maxSent))
	}
	t.at, t.draft = len(t.sent), ""
	t.set("")
	return text
}

// recall puts the line that was sent before, or after, the one that is shown into its
// place. What was typed and not sent comes back behind the last one.
func (t *typing) recall(by int) {
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

// view is what fits into width columns of the line, and the column of the cursor, which
// is always in it. Of a long line that is the part around the cursor.
func (t *typing) view(width int) (line string, cursor int) {
	if width <= 0 {
		return "", 0
	}
	text := []rune(t.input.Value())
	before, after := display(text[:t.input.Position()]), display(text[t.input.Position():])
	// The cursor behind the last character needs a column, too.
	room := width - 1 - min(ansi.StringWidth(after), width/3)
	for all, cut := before, ansi.StringWidth(before)-room; ansi.StringWidth(before) > room; cut++ {
		before = ansi.TruncateLeft(all, cut, "") // keeps a wide character that it would cut in two
	}
	cursor = ansi.StringWidth(before)
	return before + ansi.Truncate(after, width-cursor, ""), cursor
}

// display makes typed text harmless and one line.
func display(text []rune) string { return term.Plain(drawn.Replace(string(text))) }
