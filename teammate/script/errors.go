package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
)

// Problem is one mistake in a script.
type Problem struct {
	// File is the script as the caller named it.
	File string
	// Line and Col are counted from 1, Col in characters.
	Line, Col int
	// Message says what is wrong, and what to write instead.
	Message string
	// Source is the line, or the part of a long line around Col, without control
	// characters; empty if there is no such line.
	Source string
	mark   int // position of the caret in Source, in characters from 0
}

// String returns the problem for people: position and message, then the source line
// with a caret below the position.
func (p Problem) String() string {
	head := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Message)
	if strings.TrimSpace(p.Source) == "" {
		return head
	}
	return head + "\n    " + p.Source + "\n    " + strings.Repeat(" ", p.mark) + "^"
}

// window is the maximum length of the source line shown with a problem, in
// characters.
const window = 120

// show sets Source and the position of the caret.
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

// Errors holds all the mistakes of one script, sorted by position.
type Errors []Problem

// listed is the maximum number of problems that Error lists.
const listed = 50

// Error lists the problems, one per line.
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

// problems collects the mistakes of one file.
type problems struct {
	file  string
	lines []string
	list  Errors // in the order in which they were found
}

// err returns all problems as one error, or nil. It sorts them, because the decoder
// finds problems key by key and people read them from the top of the file.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	// Only the problems that Error lists need their source line.
	for i := range p.list[:min(len(p.list), listed)] {
		p.list[i].show(p.lines)
	}
	return p.list
}

// nearest returns the word of known that is most similar to word, or "" if none
// differs by at most two letters. It does not suggest words of one or two letters.
func nearest(word string, known []string) string {
	if len(word) > 64 { // too long to be a typing mistake
		return ""
	}
	known = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return len(k) < 3 })
	return texts.Nearest(word, known, 2)
}
