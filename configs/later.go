package configs

import "github.com/coveyteam/covey/configs/yaml"

// unlessLater takes a mapping by a part. If the value of key is one of words, which later
// versions will support, "not yet" is the only message about the mapping.
func unlessLater(p part, key string, words []string, hint string) part {
	return unless{p, key, words, hint}
}

// unless is the part of unlessLater.
type unless struct {
	part
	key   string
	words []string
	hint  string
}

// decode looks at the one key before all others.
func (p unless) decode(d *decoder, key, n *yaml.Node) {
	if n.Kind == yaml.Mapping {
		v := n.Lookup(p.key)
		for _, word := range p.words {
			if v != nil && v.Kind == yaml.Text && v.Text == word {
				d.notYet(v.At, p.key+": "+word, p.hint)
				markBroken(p.part, n)
				return
			}
		}
	}
	p.part.decode(d, key, n)
}

// markBroken lets the resolver see that a mapping is there which could not be
// used, so that it does not also report it as missing.
func markBroken(p part, n *yaml.Node) {
	switch p := p.(type) {
	case byType:
		*p.at = n
	case objectPart:
		if p.at != nil {
			*p.at = n
		}
	case eitherPart:
		markBroken(p.long, n)
	}
}

// laterPart is a key of DESIGN 4 that this version knows and cannot serve.
type laterPart struct{ hint string }

// later marks a key that comes with a later version. The hint completes the
// message: what to do until then.
func later(hint string) part { return laterPart{hint} }

// want is never shown: no kind of value is right.
func (p laterPart) want() string { return "nothing yet" }

// decode does not look at the value: this version does not know what is right.
func (p laterPart) decode(d *decoder, key, _ *yaml.Node) {
	d.notYet(key.At, yaml.Clip(key.Text), p.hint)
}

// notYet reports something that comes with a later version.
func (d *decoder) notYet(at yaml.Position, what, hint string) {
	if hint == "" {
		hint = "remove it"
	}
	d.fail(at, "%s: not yet in this version; %s", what, hint)
}

// schema allows nothing, so that editors mark the key.
func (p laterPart) schema() *schema { return of(*never()) }
