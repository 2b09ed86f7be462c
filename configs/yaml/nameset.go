package yaml

import (
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

// Check reports a name that is not in the set.
func (d NameSet) Check(report *Decoder, name Value[string]) {
	if name.V == "" || d.known[name.V] {
		return
	}
	copies := 0 // NAME-1 and so on, which an entry with a count stands for
	for d.known[name.V+"-"+strconv.Itoa(copies+1)] {
		copies++
	}
	switch near := report.Nearest(name.V, d.names); {
	case copies > 1:
		report.Fail(name.At.At, "there is no %s %s, but %[3]s-1 to %[3]s-%[4]d; write one of them", d.what, Quote(name.V), name.V, copies)
	case near != "":
		report.Fail(name.At.At, "there is no %s %s; write %s", d.what, Quote(name.V), near)
	case len(d.names) > 10:
		report.Fail(name.At.At, "there is no %s %s; add it, or name another one", d.what, Quote(name.V))
	default:
		report.Fail(name.At.At, "there is no %s %s; the spec has %s", d.what, Quote(name.V), strings.Join(d.names, ", "))
	}
}
