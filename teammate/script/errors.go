package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a script.
type Problem struct {
	// File is the script as the caller named it.
	File string
	// Line and Col are counted from 1, Col in characters.
	Line, Col int
	// Message says what is wrong, and what to write instead.
	Message string
}

// String is the problem as people read it: file:line:col: message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Message)
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
	file string
	list Errors // in the order in which they were found
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
	return p.list
}

// nearest returns the word of known that is most like word, or "" if none is
// near enough to be what was meant: two letters off at most, and fewer than the
// word has.
func nearest(word string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(word), k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters must be added, dropped or changed to make b of
// a. Words of more than 64 bytes are no typing mistakes, and not measured.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
