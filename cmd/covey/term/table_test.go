package term

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestTableOnAPipe(t *testing.T) {
	s, buf := pipe()
	tab := Table{Head: []string{"ID", "SUBJECT", "OWNER"}}
	tab.Add(Cell{Text: "1"}, Cell{"two\nlines\x1b[1m", Red}, Cell{})
	tab.Add(Cell{Text: "10"}, Cell{Text: strings.Repeat("long ", 60)}, Cell{Text: "世界"})
	tab.Print(s)
	lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), buf)
	}
	if !strings.HasPrefix(lines[1], `1   two lines\x1b[1m `) || !strings.HasSuffix(lines[1], " -") {
		t.Errorf("row %q: want escapes disarmed, one line, and - for nothing", lines[1])
	}
	if !strings.Contains(lines[2], strings.TrimSpace(strings.Repeat("long ", 60))) {
		t.Errorf("row %q was cut on a pipe", lines[2])
	}
	if strings.Contains(buf.String(), "\x1b") {
		t.Errorf("escapes on a pipe: %q", buf)
	}
	if strings.Index(lines[0], "OWNER") != strings.Index(lines[1], " -")+1 {
		t.Errorf("columns are not aligned:\n%s", buf)
	}
}

func TestShrink(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in, want []int
		room     int
	}{
		{"fits", []int{5, 10}, []int{5, 10}, 20},
		{"the widest gives way", []int{5, 50}, []int{5, 15}, 20},
		{"two wide ones share", []int{4, 40, 40}, []int{4, 18, 18}, 40},
		{"nothing below the least", []int{6, 6, 9}, []int{6, 6, 6}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			shrink(tc.in, make([]int, len(tc.in)), tc.room)
			for i := range tc.in {
				if tc.in[i] != tc.want[i] {
					t.Fatalf("got %v, want %v", tc.in, tc.want)
				}
			}
		})
	}
}

func TestPaint(t *testing.T) {
	s := &Screen{Color: true}
	if got, want := s.Paint(Red, "x"), "\x1b[31mx\x1b[0m"; got != want {
		t.Errorf("paint = %q, want %q", got, want)
	}
	if got := s.Paint(Normal, "x") + s.Paint(Red, ""); got != "x" {
		t.Errorf("nothing to paint gave %q", got)
	}
	s.Color = false
	if got := s.Paint(Red, "x"); got != "x" {
		t.Errorf("paint without colour gave %q", got)
	}
}

func TestNewScreenKnowsPipes(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s := NewScreen(w)
	if width, height := s.Size(); s.TTY() || s.Color || width != 0 || height != 0 {
		t.Errorf("a pipe is taken for a terminal of %d by %d", width, height)
	}
}

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		in    string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"too long", 5, "too …"},
		{"世界世界", 5, "世界…"},
		{"  \ufe0f  starting", 3, " …"},
		{"x", 0, ""},
		{"x", -3, ""},
	} {
		if got := Fit(tc.in, tc.width); got != tc.want || ansi.StringWidth(got) > max(tc.width, 0) {
			t.Errorf("fit(%q, %d) = %q, want %q", tc.in, tc.width, got, tc.want)
		}
	}
}

// countedWrites counts the writes to it.
type countedWrites int

func (n *countedWrites) Write(p []byte) (int, error) {
	*n++
	return len(p), nil
}

func TestLongTableIsOneWrite(t *testing.T) {
	var writes countedWrites
	tab := Table{Head: []string{"ID"}}
	for range 1000 {
		tab.Add(Cell{Text: "1"})
	}
	tab.Print(NewScreen(&writes))
	if writes != 1 {
		t.Errorf("%d writes for a table of 1,000 rows", writes)
	}
}

// pipe is a screen that nobody reads along, and what it gets.
func pipe() (*Screen, *bytes.Buffer) {
	var buf bytes.Buffer
	return NewScreen(&buf), &buf
}
