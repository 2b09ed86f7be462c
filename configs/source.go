package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// source is the text of a spec with what messages need of it.
type source struct {
	name  string   // as the caller named the file
	text  string   // no byte order mark, lines end in "\n"
	lines []string // text, split
	over  *source  // a local override, whose lines are counted on from these; nil: none

	// The characters of the line that was asked for last: a spec that a
	// program wrote may be one line, and columns are asked for by the thousand.
	last  int
	runes []rune
}

// line returns the characters of a line, counted from 1.
func (s *source) line(number int) []rune {
	if number < 1 || number > len(s.lines) {
		return nil
	}
	if s.last != number {
		s.last, s.runes = number, []rune(s.lines[number-1])
	}
	return s.runes
}

// position is a place in the source; both count from 1, columns in characters.
type position struct{ line, col int }

// newSource checks the bytes of a spec before any parser sees them. The text
// it returns is UTF-8 without control characters; the message is empty if all
// is well.
func newSource(name string, data []byte) (src *source, at position, message string) {
	src, at = &source{name: name}, position{1, 1}
	if len(data) > MaxSize {
		return src, at, fmt.Sprintf("the spec is larger than %d KiB; "+
			"move long instructions to files and name them with prompt_file", MaxSize>>10)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	src.text = strings.ReplaceAll(text, "\r", "\n")
	src.lines = strings.Split(src.text, "\n")
	for i, line := range src.lines {
		if col, what := badCharacter(line); col > 0 {
			return src, position{i + 1, col}, what
		}
	}
	if filepath.Ext(name) == ".json" {
		return src.mustBeJSON()
	}
	return src, at, ""
}

// mustBeJSON refuses what YAML would let pass in a file that is named .json:
// other programs that read it would not (DESIGN 10.7).
func (s *source) mustBeJSON() (*source, position, string) {
	var syntax *json.SyntaxError
	if err := json.Unmarshal([]byte(s.text), new(json.RawMessage)); !errors.As(err, &syntax) {
		return s, position{1, 1}, ""
	}
	// The offset is behind the character that is wrong.
	before := s.text[:max(min(int(syntax.Offset)-1, len(s.text)), 0)]
	line := strings.Count(before, "\n")
	col := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return s, position{line + 1, col + 1}, fmt.Sprintf("a .json file must be JSON: %v; mend it, or name the file .yaml", syntax)
}

// badCharacter finds the first character of a line that YAML forbids. The
// column is 0 if there is none.
func badCharacter(line string) (col int, message string) {
	for i, r := range line {
		col++
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(line[i:]); size == 1 {
				return col, fmt.Sprintf("byte 0x%02x is not UTF-8 here; save the spec as UTF-8", line[i])
			}
		}
		if r != '\t' && unicode.IsControl(r) && r != '\u0085' {
			return col, fmt.Sprintf("the control character %U cannot stand in a spec; "+
				"remove it, or write it as an escape in double quotes", r)
		}
	}
	return 0, ""
}

// sourceWindow is how much of a line stands in a problem, in characters: the
// whole of a line that people wrote, a part of one that a program did.
const sourceWindow = 120

// problem makes the Problem for a place.
func (s *source) problem(at position, message string) Problem {
	s, at = s.origin(at)
	p := Problem{File: s.name, Line: at.line, Col: at.col, Message: message}
	line := s.line(at.line)
	start, lead := 0, ""
	if at.col > sourceWindow {
		start, lead = min(at.col-sourceWindow/2, len(line)), "…"
	}
	end, tail := len(line), ""
	if end-start > sourceWindow {
		end, tail = start+sourceWindow, "…"
	}
	p.Source = lead + strings.TrimRight(printable(line[start:end]), " ") + tail
	p.mark = max(at.col-1-start, 0) + utf8.RuneCountInString(lead)
	return p
}

// printable replaces what a terminal would act on. A spec comes from a
// workspace that nobody trusts yet, and its lines are shown before that.
func printable(line []rune) string {
	var b strings.Builder
	for _, r := range line {
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteRune('\ufffd')
		}
	}
	return b.String()
}
