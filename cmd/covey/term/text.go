package term

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Elapsed formats a duration with two units: 12s, 3m20s, 2h05m. A negative duration,
// after a clock was set back, gives 0s.
func Elapsed(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Took formats how long a step has taken: 12 ms, 3.4 s.
func Took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Short makes one plain line of text, shortened to maxBrief columns.
func Short(text string) string {
	if len(text) > 8*maxBrief {
		text = text[:8*maxBrief] // the rest is not shown; do not process megabytes
	}
	return Fit(PlainLine(text), maxBrief)
}

// ShortMiddle is Short for a text whose end says what to do: it may be longer, and loses its middle.
func ShortMiddle(text string) string {
	if most := 4 * maxBrief; len(text) > 2*most {
		text = strings.ToValidUTF8(text[:most], "") + "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return FitMiddle(PlainLine(text), 2*maxBrief)
}

// FitMiddle is Fit, and cuts the middle out. What follows begins with a whole word: a secret is
// recognised by its beginning, so its end must not be shown alone.
func FitMiddle(text string, width int) string {
	all := textWidth(text)
	if all <= width || width < 3 {
		return Fit(text, width)
	}
	end := (width - 1) / 2
	rest := ansi.TruncateLeft(text, all-end, "")
	if i := strings.IndexByte(rest, ' '); i >= 0 {
		rest = rest[i:]
	} else {
		rest = ""
	}
	return Fit(ansi.Truncate(text, width-1-end, "")+"…"+rest, width)
}

// maxBrief is the width of foreign text in a one-line entry, in columns.
const maxBrief = 200

// Wrapped breaks one line of plain text into lines of room columns; width 0 breaks
// nothing. Tabs become blanks, because their width is unknown. A quoted line keeps
// its bar on every part: otherwise the rest of a long line would look like covey's
// own text.
func Wrapped(text string, width, room int) []string {
	text = strings.ReplaceAll(text, "\t", "    ")
	if width == 0 || ansi.StringWidth(text) <= room {
		return []string{text}
	}
	if rest, ok := strings.CutPrefix(text, QuoteBar); ok && room > 4 {
		lines := Wrapped(rest, width, room-2)
		for i := range lines {
			lines[i] = QuoteBar + lines[i]
		}
		return lines
	}
	return strings.Split(ansi.Hardwrap(ansi.Wrap(text, room, ""), room, true), "\n")
}

// Fill breaks the paragraphs of a text, which blank lines separate, into lines of at
// most width columns. A line that begins with a blank is not changed.
func Fill(text string, width int) string {
	var lines []string
	open := false // the last line may grow
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			lines, open = append(lines, line), false
			continue
		}
		for _, word := range strings.Fields(line) {
			if last := len(lines) - 1; open && textWidth(lines[last])+1+textWidth(word) <= width {
				lines[last] += " " + word
			} else {
				lines, open = append(lines, word), true
			}
		}
	}
	return strings.Join(lines, "\n")
}

// Padded pads text with blanks to width columns. It does not shorten wider text.
func Padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// Fit cuts one line of text to width columns, with a mark at the cut. The text may be
// painted: escape sequences have no width and are kept, so that styles are reset. The
// mark is included in width.
func Fit(text string, width int) string {
	if len(text) <= width && isASCII(text) {
		return text
	}
	fit := ansi.Truncate(text, max(width, 0), "…")
	// A mark that widens the character before it may be counted with that one or alone.
	for less := width - 1; less >= 0 && ansi.StringWidth(fit) > width; less-- {
		fit = ansi.Truncate(text, less, "…")
	}
	return fit
}

// textWidth returns how many columns of a terminal one line of text takes.
func textWidth(text string) int {
	if isASCII(text) {
		return len(text)
	}
	return ansi.StringWidth(text)
}

// QuoteBar is the prefix of each line of a quoted foreign text.
const QuoteBar = "│ "

// Note prints a text with an indent, wrapped on a terminal.
func (s *Screen) Note(st Style, text string) { s.wrapped(st, "  ", text) }

// Line prints a text, on a terminal wrapped between words.
func (s *Screen) Line(st Style, text string) { s.wrapped(st, "", text) }

func (s *Screen) wrapped(st Style, indent, text string) {
	lines := []string{s.Masked(PlainLine(text))} // before a secret is broken into two lines
	if width, _ := s.Size(); width > 0 {
		lines = Wrapped(lines[0], width-len(indent), width-len(indent))
	}
	for _, line := range lines {
		s.Printf("%s%s\n", indent, s.Paint(st, line))
	}
}
