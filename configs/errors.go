package configs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Errors are all the mistakes of one spec, sorted by place.
type Errors []yaml.Problem

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
func sortProblems(problems []yaml.Problem) []yaml.Problem {
	slices.SortStableFunc(problems, func(a, b yaml.Problem) int {
		return cmp.Or(cmp.Compare(b.File, a.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.CompactFunc(problems, func(a, b yaml.Problem) bool {
		return a.File == b.File && a.Line == b.Line && a.Col == b.Col && a.Message == b.Message
	})
}

// ErrSpec is wrapped by errors for mistakes of a spec, or of the files that it names,
// that show only where the team is to run, such as a program that is not installed.
// covey reports them with exit code 2.
var ErrSpec = errors.New("the spec cannot run")
