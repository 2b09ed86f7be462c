package configs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Errors are all mistakes of one spec, sorted by position.
type Errors []yaml.Problem

// Placed is an error about a program that the spec names, such as one that is not installed.
type Placed struct {
	Problem yaml.Problem // the error with its place in the spec
	err     error
}

// Error returns the error without its place.
func (p *Placed) Error() string { return p.err.Error() }

// Unwrap returns the error.
func (p *Placed) Unwrap() error { return p.err }

// serverKey is what Team.Placed knows an MCP server by. No agent has such a name.
const serverKey = "mcp_servers."

// Placed returns an error about the program of an agent as a *Placed, unless the spec has no place for it.
func (t *Team) Placed(agent string, err error) error {
	place, ok := t.places[agent]
	if !ok || err == nil {
		return err
	}
	place.Message = err.Error()
	return &Placed{place, err}
}

// PlacedServer is Placed for the program of an MCP server.
func (t *Team) PlacedServer(server string, err error) error { return t.Placed(serverKey+server, err) }

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
