package yaml

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

// MaxSize is the size of the largest spec, in bytes. The YAML library is slow
// on hostile input, and a spec that people can still read is far smaller.
const MaxSize = 128 << 10

// Form is what a kind of file may be, and how messages speak of it.
type Form struct {
	Name    string // such as "spec"
	MaxSize int    // in bytes
	// The time of the parser grows with the square of the number of keys in a mapping and of the
	// depth of lists.
	MaxKeys, MaxDepth int
	IfEmpty           string // what to write into an empty file
	IfLarge           string // what to do about one that is too large
	InsteadOfMerge    string // what to do without merge keys
}

// spec is the form of a team's spec. It needs 7 levels.
func spec() Form {
	return Form{
		Name: "spec", MaxSize: MaxSize, MaxKeys: 10_000, MaxDepth: 32,
		IfEmpty: "`covey init` writes one that runs",
		IfLarge: "move long instructions to files and name them with prompt_file, and write members that are alike " +
			"once, with count",
		InsteadOfMerge: "write the keys out, or put what members share under defaults",
	}
}

// source is the text of a file, kept for messages.
type source struct {
	Form
	name  string   // as the caller named the file
	text  string   // no byte order mark, lines end in "\n"
	lines []string // text, split

	// The characters of the last line that line returned. A generated spec may be one
	// long line with thousands of positions.
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

// Position is a place in a document. Both numbers count from 1, columns in characters.
type Position struct{ Line, Col int }

// newSource checks the bytes of a file before the parser reads them. The text of the
// result is UTF-8 without control characters. The message is empty if the file is valid.
func newSource(name string, data []byte, form Form) (src *source, at Position, message string) {
	src, at = &source{Form: form, name: name}, Position{1, 1}
	if len(data) > form.MaxSize {
		return src, at, fmt.Sprintf("the %s is larger than %d KiB%s; %s", form.Name, form.MaxSize>>10, largestSection(data), form.IfLarge)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	src.text = strings.ReplaceAll(text, "\r", "\n")
	src.lines = strings.Split(src.text, "\n")
	for i, line := range src.lines {
		if col, what := src.badCharacter(line); col > 0 {
			return src, Position{i + 1, col}, what
		}
	}
	if filepath.Ext(name) == ".json" {
		return src.mustBeJSON()
	}
	return src, at, ""
}

// largestSection names the key at the margin of a YAML file whose section is the largest;
// empty if there is none, as in JSON.
func largestSection(data []byte) string {
	name, largest, size, most := "", "", 0, 0
	for line := range bytes.Lines(data) {
		if key, _, ok := bytes.Cut(line, []byte(":")); ok && !bytes.ContainsAny(key, " \t{[\"'#-") {
			name, size = string(key), 0
		}
		if size += len(line); size > most && name != "" {
			largest, most = name, size
		}
	}
	if largest == "" {
		return ""
	}
	return fmt.Sprintf(" (%s takes %d of them)", Clip(largest), most>>10)
}

// mustBeJSON refuses YAML that is not JSON in a file named .json, because other
// programs could not read the file.
func (s *source) mustBeJSON() (*source, Position, string) {
	var syntax *json.SyntaxError
	if err := json.Unmarshal([]byte(s.text), new(json.RawMessage)); !errors.As(err, &syntax) {
		return s, Position{1, 1}, ""
	}
	// The offset is that of the character after the wrong one.
	before := s.text[:max(min(int(syntax.Offset)-1, len(s.text)), 0)]
	line := strings.Count(before, "\n")
	col := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	message := fmt.Sprintf("a .json file must be JSON: %v; mend it, or name the file .yaml", syntax)
	return s, Position{line + 1, col + 1}, message
}

// badCharacter finds the first character of a line that YAML forbids. The
// column is 0 if there is none.
func (s *source) badCharacter(line string) (col int, message string) {
	for i, r := range line {
		col++
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(line[i:]); size == 1 {
				return col, fmt.Sprintf("byte 0x%02x is not UTF-8 here; save the %s as UTF-8", line[i], s.Name)
			}
		}
		if r != '\t' && unicode.IsControl(r) && r != '\u0085' {
			return col, fmt.Sprintf("the control character %U cannot stand in a %s; "+
				"remove it, or write it as an escape in double quotes", r, s.Name)
		}
	}
	return 0, ""
}

// sourceWindow is how much of a line a problem shows, in characters: all of a line
// that a person wrote, a part of a generated one.
const sourceWindow = 120

// problem makes the Problem for a place.
func (s *source) problem(at Position, message string) Problem {
	p := Problem{File: s.name, Line: at.Line, Col: at.Col, Message: message}
	line := s.line(at.Line)
	start, lead := 0, ""
	if at.Col > sourceWindow {
		start, lead = min(at.Col-sourceWindow/2, len(line)), "…"
	}
	end, tail := len(line), ""
	if end-start > sourceWindow {
		end, tail = start+sourceWindow, "…"
	}
	p.Source = lead + strings.TrimRight(printable(line[start:end]), " ") + tail
	p.mark = max(at.Col-1-start, 0) + utf8.RuneCountInString(lead)
	return p
}

// printable replaces control characters, because lines of a spec are shown on a
// terminal before its workspace is trusted.
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
