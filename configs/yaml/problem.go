package yaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a spec, or one thing worth a warning.
type Problem struct {
	File    string `json:"file"`    // as the caller named it
	Line    int    `json:"line"`    // from 1; 0: it has no place in the file
	Col     int    `json:"col"`     // from 1, in characters; 0: only the line is known
	Message string `json:"message"` // what is wrong, and what to write instead
	Source  string `json:"source"`  // the line, cut to a window around Col, control characters replaced
	mark    int    // where the caret goes, in characters of Source, from 0
}

// String is the problem as people read it: place and message, then the source
// line and a caret below the spot.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	if p.Col == 0 {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	head := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Message)
	if strings.TrimSpace(p.Source) == "" {
		return head
	}
	return head + "\n    " + p.Source + "\n    " + strings.Repeat(" ", p.mark) + "^"
}

// SamePlace reports whether another problem is at the same place of the same file.
func (p Problem) SamePlace(other Problem) bool {
	return p.File == other.File && p.Line == other.Line && p.Col == other.Col
}

// SortProblems sorts by position, the spec before its override, and removes duplicates.
func SortProblems(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(b.File, a.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool {
		return a.SamePlace(b) && a.Message == b.Message
	})
}

// Errors are all mistakes of one file, sorted by position.
type Errors []Problem

// Listed is how many problems Error lists. A hostile file can have tens of thousands, and
// the text goes to a terminal.
const Listed = 100

// Error lists the problems, one on each line.
func (e Errors) Error() string {
	var lines []string
	for _, p := range e[:min(len(e), Listed)] {
		lines = append(lines, p.String())
	}
	if more := len(e) - Listed; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}
