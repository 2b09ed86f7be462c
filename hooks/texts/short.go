package texts

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// Preview returns the first line of s, at most limit bytes, with an ellipsis if something
// is missing. It replaces invalid UTF-8.
func Preview(s string, limit int) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
	if line, _, more := strings.Cut(s, "\n"); more {
		s = line + " …"
	}
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// Clip returns the first limit characters of s, with an ellipsis if there are more.
func Clip(s string, limit int) string {
	if first := Runes(s, limit); len(first) < len(s) {
		return first + "…"
	}
	return s
}

// Short returns s without surrounding space, at most limit characters. If there are more,
// the last one is an ellipsis.
func Short(s string, limit int) string {
	s = strings.TrimSpace(s)
	if first := Runes(s, limit); len(first) < len(s) {
		return Runes(s, limit-1) + "…"
	}
	return s
}

// Middle cuts s to at most limit characters by leaving out the middle, and says there how
// many, because the beginning and the end of an error say most.
func Middle(s string, limit int) string {
	const markRoom = 60 // for the mark
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	half := (limit - markRoom) / 2
	mark := fmt.Sprintf("\n\n... [%d characters left out] ...\n\n", len(runes)-2*half)
	return string(runes[:half]) + mark + string(runes[len(runes)-half:])
}

// Few joins the first of some names, at most as many as most, and says how many more there are.
func Few(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Plural formats a number with a word, which must form its plural with an s.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// FirstLine returns the first line of s that is not empty, without the space around it.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// LastLine returns the last line of s that is not empty, without the space around it.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// LineWidth is how many characters of a text fit one line of a table.
const LineWidth = 80

// OneLine returns s as one line of a table: it replaces runs of space by one space and
// cuts the text to LineWidth characters.
func OneLine(s string) string {
	return Short(Unbroken(s), LineWidth)
}

// Unbroken returns s without line breaks: it replaces runs of space by one space.
func Unbroken(s string) string { return strings.Join(strings.Fields(s), " ") }

// Runes returns the first n characters of s.
func Runes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Nearest returns the known word with the smallest edit distance to written, or "" if all
// distances exceed most.
func Nearest(written string, known []string, most int) string {
	best, least := "", most+1
	for _, word := range known {
		if d := distance(written, word); d < least {
			best, least = word, d
		}
	}
	return best
}

// Typo returns the known word that written probably misspells, or "" if none is close
// enough.
func Typo(written string, known []string) string {
	return Nearest(written, known, 1+len(written)/5)
}

// distance returns how many letters to add, drop or change to turn a into b, ignoring
// case.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i]|0x20 == b[j]|0x20 {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Errorf returns an error of a kind with its own text: errors.Is finds the kind, and the
// text does not repeat it.
func Errorf(kind error, format string, args ...any) error {
	return &kindError{kind, fmt.Sprintf(format, args...)}
}

type kindError struct {
	kind error
	text string
}

// Error is the text alone.
func (e *kindError) Error() string { return e.text }

// Unwrap lets errors.Is find the kind.
func (e *kindError) Unwrap() error { return e.kind }

// Cause returns the text of an error without the path that a PathError puts around it.
func Cause(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
