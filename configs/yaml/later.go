package yaml

// UnlessLater takes a mapping by p. If the value of key is one of words, which later
// versions will support, "not yet" is the only message about the mapping.
func UnlessLater(p Part, key string, words []string, hint string) Part {
	return unless{p, key, words, hint}
}

// unless is the part that UnlessLater makes.
type unless struct {
	Part
	key   string
	words []string
	hint  string
}

// Decode looks at the one key before all others.
func (p unless) Decode(d *Decoder, key, n *Node) {
	if n.Kind == MappingKind {
		v := n.Lookup(p.key)
		for _, word := range p.words {
			if v != nil && v.Kind == TextKind && v.Text == word {
				d.NotYet(v.At, p.key+": "+word, p.hint)
				markBroken(p.Part, n)
				return
			}
		}
	}
	p.Part.Decode(d, key, n)
}

// markBroken lets the resolver see that a mapping is there which could not be
// used, so that it does not also report it as missing.
func markBroken(p Part, n *Node) {
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

// laterPart is a key that this version knows and cannot serve.
type laterPart struct{ hint string }

// Later marks a key that comes with a later version. The hint completes the
// message: what to do until then.
func Later(hint string) Part { return laterPart{hint} }

// Want is never shown: no kind of value is right.
func (p laterPart) Want() string { return "nothing yet" }

// Decode does not look at the value: this version does not know what is right.
func (p laterPart) Decode(d *Decoder, key, _ *Node) {
	d.NotYet(key.At, Clip(key.Text), p.hint)
}

// NotYet reports something that comes with a later version.
func (d *Decoder) NotYet(at Position, what, hint string) {
	if hint == "" {
		hint = "remove it"
	}
	d.Fail(at, "%s: not yet in this version; %s", what, hint)
}

// Schema allows nothing, so that editors mark the key.
func (p laterPart) Schema() *JSON { return Of(*Never()) }
