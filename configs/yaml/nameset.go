package yaml

import (
	"fmt"
	"strconv"
	"strings"
)

// NameSet holds the names that a spec may refer to in some place.
type NameSet struct {
	what  string
	names []string
	known map[string]bool
}

// NewNameSet returns a set of names. what is the word for one of them in messages.
func NewNameSet(what string, names []string) NameSet {
	d := NameSet{what, names, map[string]bool{}}
	for _, name := range names {
		d.known[name] = true
	}
	return d
}

// Check reports the names in a node that are not in the set.
func (d NameSet) Check(report *Decoder, n *Node) {
	for name := range n.Texts() {
		if !d.known[name.Text] {
			d.report(report, name)
		}
	}
}

// report reports a name that is not in the set.
func (d NameSet) report(report *Decoder, name *Node) {
	copies := 0 // NAME-1 and so on, which an entry with a count stands for
	for d.known[name.Text+"-"+strconv.Itoa(copies+1)] {
		copies++
	}
	what := fmt.Sprintf("there is no %s %s", d.what, Quote(name.Text))
	switch near := report.Nearest(name.Text, d.names); {
	case copies > 1:
		report.Fail(name.At, "%s, but %[2]s-1 to %[2]s-%[3]d; write one of them", what, name.Text, copies)
	case near != "":
		report.Fail(name.At, "%s; write %s", what, near)
	case len(d.names) > 10:
		report.Fail(name.At, "%s; add it, or name another one", what)
	default:
		report.Fail(name.At, "%s; the spec has %s", what, strings.Join(d.names, ", "))
	}
}
