package configs

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
	Col     int    `json:"col"`     // from 1, in characters
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
	head := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Message)
	if strings.TrimSpace(p.Source) == "" {
		return head
	}
	return head + "\n    " + p.Source + "\n    " + strings.Repeat(" ", p.mark) + "^"
}

// Errors are all the mistakes of one spec, sorted by place.
type Errors []Problem

// listed is how many problems Error spells out. A hostile spec can hold tens
// of thousands; nobody reads those, and the text goes to a terminal.
const listed = 100

// Error lists the problems, one after another.
func (e Errors) Error() string {
	var b strings.Builder
	for i, p := range e {
		if i == listed {
			fmt.Fprintf(&b, "\nand %d more", len(e)-listed)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// sortProblems orders by place, the spec before its override, and drops what is said twice there.
func sortProblems(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(b.File, a.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool {
		return a.File == b.File && a.Line == b.Line && a.Col == b.Col && a.Message == b.Message
	})
}
