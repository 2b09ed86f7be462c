package nodes

import (
	"cmp"
	"slices"
)

// Candidate is a node that may get a member.
type Candidate struct {
	Name   string
	Labels []string
	Free   int  // places
	Here   bool // it answers and takes members
	Known  bool // it is here, or may be here again soon
}

// suits reports whether a node has all labels. Its name is one of them.
func (c Candidate) suits(labels []string) bool {
	return !slices.ContainsFunc(labels, func(l string) bool { return l != c.Name && !slices.Contains(c.Labels, l) })
}

// Choose returns the node for a member that needs labels; empty: the member has to wait. A member goes
// where it sat before, because its working copy is there, and waits for that node while it may come
// back. Otherwise it gets the node with the most free places, and of equal ones the first by name.
func Choose(labels []string, before string, list []Candidate) string {
	fit := slices.DeleteFunc(slices.Clone(list), func(c Candidate) bool { return !c.suits(labels) })
	if i := slices.IndexFunc(fit, func(c Candidate) bool { return c.Name == before }); i >= 0 {
		switch c := fit[i]; {
		case c.Here && c.Free > 0:
			return c.Name
		case !c.Here && c.Known:
			return ""
		}
	}
	fit = slices.DeleteFunc(fit, func(c Candidate) bool { return !c.Here || c.Free <= 0 })
	if len(fit) == 0 {
		return ""
	}
	return slices.MinFunc(fit, func(a, b Candidate) int { return cmp.Or(b.Free-a.Free, cmp.Compare(a.Name, b.Name)) }).Name
}
