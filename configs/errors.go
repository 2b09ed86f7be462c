package configs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Errors are all mistakes of one spec, sorted by position.
type Errors []yaml.Problem

// listed is how many problems Error lists. A hostile spec can have tens of thousands, and
// the text goes to a terminal.
const listed = 100

// Error lists the problems, one on each line.
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

// sortProblems sorts by position, the spec before its override, and removes duplicates.
func sortProblems(problems []yaml.Problem) []yaml.Problem {
	slices.SortStableFunc(problems, func(a, b yaml.Problem) int {
		return cmp.Or(cmp.Compare(b.File, a.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.CompactFunc(problems, func(a, b yaml.Problem) bool {
		return a.File == b.File && a.Line == b.Line && a.Col == b.Col && a.Message == b.Message
	})
}

// ErrSpec is wrapped by errors for mistakes in a spec, or in the files that it names, that
// only show when the team starts, such as a program that is not installed. covey exits
// with code 2 for them.
var ErrSpec = errors.New("the spec cannot run")
