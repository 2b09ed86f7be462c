package board

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// reader shows a text of which a person scrolls to the parts. It keeps the text broken into lines,
// because that of a question may be long, and is drawn again and again.
type reader struct {
	text  string
	width int
	lines []string
	below int // how many lines are above the screen
}

// broken returns a text as lines of a width.
func (r *reader) broken(text string, width int) []string {
	if r.text == text && r.width == width {
		return r.lines
	}
	r.text, r.width, r.lines = text, width, nil
	if text == "" {
		return nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range term.Wrapped(line, width, width) {
			r.lines = append(r.lines, term.Fit(part, width))
		}
	}
	return r.lines
}

// window returns the lines on a screen of a size, and says if there are more.
func (r *reader) window(text string, width, height int) (lines []string, more string) {
	all := r.broken(text, width)
	r.below = max(0, min(r.below, len(all)-height))
	end := min(len(all), r.below+height)
	if end < len(all) {
		more = fmt.Sprintf(" · %d of %d lines; PgDn goes on", end, len(all))
	}
	return all[r.below:end], more
}

// key scrolls by a key; page is the height of the screen. window corrects what goes too far.
func (r *reader) key(name string, page int) {
	page = max(1, page-1)
	r.below = max(0, r.below+map[string]int{
		"pgup": -page, "pgdown": page, "shift+up": -1, "shift+down": 1, "ctrl+home": -1 << 30, "ctrl+end": 1 << 30,
	}[name])
}
