package configs

import (
	"errors"
	"fmt"
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

// ErrSpec is wrapped by errors for mistakes in a spec, or in the files that it names, that
// only show when the team starts, such as a program that is not installed. covey exits
// with code 2 for them.
var ErrSpec = errors.New("the spec cannot run")
