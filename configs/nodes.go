package configs

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Node is a host besides the coordinator's that may carry members.
type Node struct {
	Name   string
	Labels []string // words for what it is good for, which `on` of members asks for
}

// Has reports whether a node has all labels. Its name is one of them.
func (n Node) Has(labels []string) bool {
	return !slices.ContainsFunc(labels, func(l string) bool { return l != n.Name && !slices.Contains(n.Labels, l) })
}

// nodeSpec is an entry of the section `nodes`.
type nodeSpec struct{ labels yaml.List[yaml.Value[string]] }

// nodePart decodes a node.
func nodePart(n *nodeSpec) yaml.Part {
	return yaml.Shared("node", yaml.Object(nil, n.fields()))
}

// fields returns the keys of a node.
func (n *nodeSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "labels", Part: yaml.Texts(&n.labels),
			Doc: "Words for what it is good for, which `on` of members asks for. `covey node --labels` adds others."},
	}
}

// nodes resolves the section `nodes`, and checks on which of them members have to be. `on` of defaults
// applies to teammates.
func (r *resolver) nodes(t *Team, s *teamSpec) {
	var words []string
	for _, e := range s.work.nodes {
		n := Node{Name: e.Name.Text, Labels: yaml.Words(e.V.labels)}
		t.Nodes, words = append(t.Nodes, n), append(append(words, n.Name), n.Labels...)
	}
	if len(s.work.nodes) > 0 && !t.Bus.Given() {
		r.Fail(s.work.nodes[0].Name.At, "nodes reach the team by the servers that keep its data, and there is no bus; add bus: {url: [...]}")
	}
	if s.lead.on.Given() {
		r.Fail(s.lead.on.At.At, "the lead works on the host that runs the team; remove on")
	}
	i := 0
	for _, e := range s.addable() {
		on := &e.V.on
		if !on.Given() {
			on = &s.defaults.on
		}
		for range e.V.names("") {
			if on.Given() {
				m := &Member{}
				if all := slices.Collect(t.EachAndTemplates()); i+1 < len(all) { // or its part of the spec was refused
					m = all[i+1]
				}
				r.seat(m, on, e.V.isolation, t.Nodes, words)
			}
			i++
		}
	}
}

// seat resolves `on` of a member.
func (r *resolver) seat(m *Member, on *yaml.List[yaml.Value[string]], isolation yaml.Value[Isolation], nodes []Node, words []string) {
	m.On = yaml.Words(*on)
	for _, l := range on.Items {
		if slices.Contains(words, l.V) || r.Said(l.At.At) {
			continue
		}
		r.Fail(l.At.At, "no node is called %s or has that label; add nodes: {NAME: {labels: [%[2]s]}}", yaml.Quote(l.V), l.V)
		return
	}
	switch {
	case len(on.Items) == 0 && !r.Said(on.At.At):
		r.Fail(on.At.At, "on names no label; name one, or remove it")
	case len(on.Items) > 0 && !slices.ContainsFunc(nodes, func(n Node) bool { return n.Has(m.On) }) && !r.Said(on.Items[0].At.At):
		r.Fail(on.Items[0].At.At, "no node has all of %s; add them to one", strings.Join(m.On, ", "))
	}
	if m.Isolation == Shared && !r.Said(isolation.At.At) {
		r.Fail(isolation.At.At, "a member on another host works in a working copy; write isolation: worktree, or remove on")
	}
	m.Isolation = InWorktree
}
