package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
)

// withoutMark returns a file's content without a byte order mark, which Windows programs
// write.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// notJSON returns the flaw of a file that is not one JSON object. err is the error of
// notation.Fields.
func notJSON(name string, data []byte, err error) *Flaw {
	f := &Flaw{File: name, Line: 1, Col: 1, Refused: true,
		Text: "the file cannot be used, because it is not one JSON object: " + notation.Reason(err)}
	if bad := (*json.SyntaxError)(nil); errors.As(json.Unmarshal(data, new(json.RawMessage)), &bad) {
		before := data[:max(int(bad.Offset)-1, 0)] // Offset counts the bad byte, too
		f.Line = 1 + bytes.Count(before, []byte("\n"))
		f.Col = 1 + len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:])))
		f.Text += "; JSON has no comments, and no comma after a last entry"
	}
	return f
}

// line returns the line of a path or of its nearest known parent, or 0.
func (r *settingsReader) line(path string) int {
	for path != "" {
		if line := r.lines[path]; line > 0 {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// warnRepeats warns of keys that stand more than once where covey reads: only the last one
// counts, as in JavaScript, and the hooks or rules of the others are lost.
func (r *settingsReader) warnRepeats(repeats []string) {
	for _, path := range repeats {
		top, _, nested := strings.Cut(path, ".")
		if !nested || top == "hooks" || top == "permissions" {
			r.warn(path, "the key stands twice in its object, and only the last one counts: "+
				"put what both have under one key")
		}
	}
}

// linesOf returns the line of each value of a valid JSON text, by paths such as
// permissions.deny[1], and the paths of keys that stand more than once in their object.
// The line of such a path is that of its last value.
func linesOf(data []byte) (lines map[string]int, repeats []string) {
	lines = map[string]int{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number may be too large for a float
	line, counted := 1, 0
	// value walks through one value and reports whether that worked: d repeats an error for ever.
	var value func(path string) bool
	value = func(path string) bool {
		token, err := d.Token()
		if err != nil {
			return false
		}
		end := int(d.InputOffset())
		line += bytes.Count(data[counted:end], []byte("\n"))
		counted, lines[path] = end, line
		switch token {
		case json.Delim('{'):
			seen := map[json.Token]bool{}
			for d.More() {
				key, err := d.Token()
				below := strings.TrimPrefix(fmt.Sprintf("%s.%v", path, key), ".")
				if seen[key] {
					repeats = append(repeats, below)
				}
				seen[key] = true
				if err != nil || !value(below) {
					return false
				}
			}
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				if !value(fmt.Sprintf("%s[%d]", path, i)) {
					return false
				}
			}
		default:
			return true
		}
		_, err = d.Token() // the closing bracket
		return err == nil
	}
	value("")
	return lines, repeats
}
