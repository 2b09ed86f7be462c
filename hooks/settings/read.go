package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// maxSettings is the size of the largest settings file that is read, in bytes.
const maxSettings = 1 << 20

// ReadSettings reads one settings file: JSON as Claude Code, Codex and VS Code
// write it, Codex's TOML, or the head of an agent's or skill's Markdown file. It
// never fails; a file that cannot be used is empty and has a warning, see Refused.
func ReadSettings(path string, read ReadFile) (File, []error) {
	if isMarkdown(path) {
		return ReadFront(path, read)
	}
	data, err := read(path)
	if err != nil {
		return broken(path, texts.Cause(err))
	}
	return Parse(path, data)
}

// ReadFile reads one file of a team's hooks. A function other than Read may return
// content that differs from the disk, such as an earlier version.
type ReadFile func(path string) ([]byte, error)

// Read is the ReadFile for the disk: it reads regular files of at most 1 MiB.
func Read(path string) ([]byte, error) { return texts.ReadFile(path, maxSettings) }

// isMarkdown reports whether the hooks of a file are in its head.
func isMarkdown(path string) bool { return filepath.Ext(path) == ".md" }

// MayHook reports whether a file with this content may bring hooks. Most Markdown files
// have none in their head.
func MayHook(path string, data []byte) bool {
	if !isMarkdown(path) {
		return true
	}
	file, _ := ReadFront(path, func(string) ([]byte, error) { return data, nil })
	return file.Broken || len(file.Hooks) > 0
}

// Fault returns why a file of hooks cannot be used at all, or why its prohibitions
// cannot be read, or "".
func Fault(path string, data []byte) string {
	file, warnings := ReadSettings(path, func(string) ([]byte, error) { return data, nil })
	if err := unusable(file, warnings); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return first
	}
	return ""
}

// unusable returns why a file that was read must not be used, or nil.
func unusable(file File, warnings []error) error {
	switch refused := Refused(warnings); {
	case file.Broken:
		return errors.Join(warnings...)
	case len(file.Permissions.Unreadable) > 0:
		return errors.New(strings.Join(file.Permissions.Unreadable, "; "))
	default:
		return errors.Join(refused...)
	}
}

// withoutMark returns a file's content without a byte order mark, which Windows programs
// write.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// notJSON returns the flaw of a file that is not one JSON object. err is the error of
// texts.Fields.
func notJSON(name string, data []byte, err error) *Flaw {
	f := &Flaw{File: name, Line: 1, Col: 1, Refused: true,
		Text: "the file cannot be used, because it is not one JSON object: " + texts.Reason(err)}
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
