package board

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// left moves the cursor to the left.
func left(t *inputLine, times int) {
	for range times {
		t.key(tea.KeyPressMsg{Code: tea.KeyLeft})
	}
}

// What is drawn of a line is the part around the cursor, and wide characters take two columns.
func TestTypingView(t *testing.T) {
	for _, tc := range []struct {
		text   string
		left   int
		width  int
		want   string
		cursor int
	}{
		{"", 0, 10, "", 0},
		{"abc", 0, 10, "abc", 3},
		{"abc", 2, 10, "abc", 1},
		{"0123456789", 0, 6, "56789", 5},
		{"0123456789", 10, 6, "012345", 0},
		{"0123456789", 5, 6, "234567", 3},
		{"世界人", 0, 20, "世界人", 6},
		{"世界人", 1, 20, "世界人", 4},
		{"世界人", 0, 4, "人", 2},
		{"世界人", 3, 3, "世", 0},
		{"a\nb\tc", 0, 10, "a⏎b c", 5},
		{"a\u202eb", 0, 20, `a\u202eb`, 8},
		{"abc", 0, 1, "", 0},
		{"abc", 0, 0, "", 0},
		{"abc", 0, -2, "", 0},
	} {
		line := newInputLine()
		line.insert(tc.text)
		left(&line, tc.left)
		if got, cursor := line.draw(tc.width); got != tc.want || cursor != tc.cursor {
			t.Errorf("%q, %d to the left, in %d columns: %q with the cursor at %d, want %q at %d",
				tc.text, tc.left, tc.width, got, cursor, tc.want, tc.cursor)
		}
	}
}

// Whatever is typed and wherever the cursor is, the line fits and the cursor stands in it.
func TestTypingFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := newInputLine()
		text := strings.ToValidUTF8(rapid.String().Draw(t, "text"), "?")
		line.insert(text)
		left(&line, rapid.IntRange(0, 30).Draw(t, "left"))
		width := rapid.IntRange(1, 40).Draw(t, "width")
		got, cursor := line.draw(width)
		if ansi.StringWidth(got) > width || cursor < 0 || cursor >= width || strings.ContainsAny(got, "\n\t\x1b") {
			t.Fatalf("%q in %d columns is %q with the cursor at %d", text, width, got, cursor)
		}
	})
}

// Pasted text is sent as it was: several lines, tabs and wide characters, put into the
// middle of a line, and brought back.
func TestTypingPaste(t *testing.T) {
	const pasted = "if x {\n\tgo on 世界\n}"
	line := newInputLine()
	line.insert("<>")
	left(&line, 1)
	line.insert(strings.ReplaceAll(pasted, "\n", "\r\n"))
	if got, want := line.submit(), "<"+pasted+">"; got != want {
		t.Fatalf("took %q, want %q", got, want)
	}
	line.recall(-1)
	if got, want := line.text(), "<"+pasted+">"; got != want {
		t.Errorf("brought back %q, want %q", got, want)
	}
}

// A long session does not grow without end, and the oldest lines go first.
func TestTypingForgets(t *testing.T) {
	line := newInputLine()
	for i := range maxSent + 10 {
		line.set(fmt.Sprint(i))
		line.submit()
	}
	for range maxSent + 10 {
		line.recall(-1)
	}
	if len(line.sent) != maxSent || line.text() != "10" {
		t.Errorf("%d lines, the oldest is %s", len(line.sent), line.text())
	}
}
