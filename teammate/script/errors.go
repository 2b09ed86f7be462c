package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/notation"
)

// Problem is one mistake in a script.
type Problem struct {
	// File is the script as the caller named it.
	File string
	// Line and Col are counted from 1, Col in characters.
	Line, Col int
	// Message says what is wrong, and what to write instead.
	Message string
	// Source is the line, or what of a long one stands around Col, without
	// characters that a terminal would act on; empty: there is none.
	Source string
	mark   int // where the caret goes, in characters of Source, from 0
}

// String is the problem as people read it: place and message, then the source
// line and a caret below the spot.
func (p Problem) String() string {
	head := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Message)
	if strings.TrimSpace(p.Source) == "" {
		return head
	}
	return head + "\n    " + p.Source + "\n    " + strings.Repeat(" ", p.mark) + "^"
}

// window is how much of a line stands in a problem, in characters.
const window = 120

// show fills in the source line of the problem.
func (p *Problem) show(lines []string) {
	if p.Line < 1 || p.Line > len(lines) {
		return
	}
	line := []rune(strings.TrimSuffix(lines[p.Line-1], "\r"))
	start, lead := 0, ""
	if p.Col > window {
		start, lead = min(p.Col-window/2, len(line)), "…"
	}
	end, tail := len(line), ""
	if end-start > window {
		end, tail = start+window, "…"
	}
	shown := strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return unicode.ReplacementChar
	}, string(line[start:end]))
	p.Source = lead + strings.TrimRight(shown, " ") + tail
	p.mark = max(p.Col-1-start, 0) + utf8.RuneCountInString(lead)
}

// Errors are all the mistakes of one script, sorted by place.
type Errors []Problem

// listed is how many problems Error spells out; nobody reads more.
const listed = 50

// Error lists the problems, one a line.
func (e Errors) Error() string {
	lines := make([]string, 0, min(len(e), listed)+1)
	for i, p := range e {
		if i == listed {
			lines = append(lines, fmt.Sprintf("and %d more", len(e)-listed))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong with one file.
type problems struct {
	file  string
	lines []string
	list  Errors // in the order in which they were found
}

// err is all problems as one error, or nil. It sorts first: decoding finds
// problems key by key, and people read them from the top of the file.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	// Only those are shown that somebody reads.
	for i := range p.list[:min(len(p.list), listed)] {
		p.list[i].show(p.lines)
	}
	return p.list
}

// nearest returns the word of known that is most like word, or "" if none is
// near enough to be what was meant: two letters off at most. Words of two letters
// are not guessed.
func nearest(word string, known []string) string {
	if len(word) > 64 { // no typing mistake
		return ""
	}
	known = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return len(k) < 3 })
	return notation.Nearest(word, known, 2)
}
