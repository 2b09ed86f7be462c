package configs

// objectPart takes a mapping with known keys.
type objectPart struct {
	at     **node // optional: remembers where the mapping is
	fields []field
}

// object takes a mapping with the keys of a table. at may be nil.
func object(at **node, fields []field) part { return objectPart{at, fields} }

// want names the kind alone; the keys are in messages of their own.
func (p objectPart) want() string { return "a mapping" }

// decode remembers the mapping even if something in it is wrong, so that the
// resolver sees that it is there.
func (p objectPart) decode(d *decoder, key, n *node) {
	if p.at != nil {
		*p.at = n
	}
	d.object(key, n, p.fields)
}

// eitherPart takes a short form (text) or a long one (a mapping).
type eitherPart struct {
	short, long part
	says        string // completes "it must be …"
}

// either takes a text by one part and a mapping by another. says completes "it
// must be …" for values that are neither.
func either(short, long part, says string) part { return eitherPart{short, long, says} }

// want names both forms.
func (p eitherPart) want() string { return p.says }

// decode chooses the form by the kind of value alone, so that a mistake inside
// one form is never reported as the wish for the other.
func (p eitherPart) decode(d *decoder, key, n *node) {
	switch n.kind {
	case kindText:
		p.short.decode(d, key, n)
	case kindMapping:
		p.long.decode(d, key, n)
	default:
		d.fail(n.at, "%s must be %s, not %s", nameOf(key), p.says, n.describe())
	}
}

// list is a list of the spec with its place.
type list[T any] struct {
	items []T
	at    *node // nil: the spec does not give it
}

// given reports whether the spec has the list, be it empty.
func (l list[T]) given() bool { return l.at != nil }

// listPart takes a list whose entries are all alike.
type listPart[T any] struct {
	to   *list[T]
	part func(*T) part
	says string
}

// listOf takes a list; entry makes the part for one entry's place. says completes
// "it must be …".
func listOf[T any](to *list[T], says string, entry func(*T) part) part {
	return listPart[T]{to, entry, says}
}

// maxTexts is how many entries a list of texts may have. Members inherit
// lists, so a small spec could make many large ones.
const maxTexts = 1000

// texts takes a list of texts, each at most once.
func texts(to *list[value[string]]) part {
	return uniqueTexts{listPart[value[string]]{to, text, "a list of texts"}}
}

// argsPart takes a list of texts, empty and repeated ones too.
func argsPart(to *list[value[string]]) part {
	return argsList(to)
}

// want says what the list is of.
func (p listPart[T]) want() string { return p.says }

// decode makes a place for every entry, wrong ones too: package hooks finds its
// mistakes by index.
func (p listPart[T]) decode(d *decoder, key, n *node) {
	p.to.at = n
	if n.kind != kindList {
		d.wrong(key, n, p.says)
		return
	}
	p.to.items = make([]T, len(n.items))
	for i, item := range n.items {
		p.part(&p.to.items[i]).decode(d, entryKey(key), item)
	}
}

// entryKey names the entries of a list in messages.
func entryKey(key *node) *node {
	return &node{kind: kindText, text: "an entry of " + key.text, at: key.at}
}

// uniqueTexts is a list of texts without repetitions.
type uniqueTexts struct{ listPart[value[string]] }

// decode refuses repetitions, which in lists of names are slips, and lists that
// no person wrote.
func (p uniqueTexts) decode(d *decoder, key, n *node) {
	p.listPart.decode(d, key, n)
	if len(p.to.items) > maxTexts {
		d.fail(n.at, "%s has more than %d entries; shorten it", nameOf(key), maxTexts)
		p.to.items = nil
	}
	seen := map[string]bool{}
	for _, item := range p.to.items {
		if item.v != "" && seen[item.v] {
			d.fail(item.at.at, "%s names %s twice; keep one", nameOf(key), quote(item.v))
		}
		seen[item.v] = true
	}
}

// words returns the texts of a list: nil if the spec does not give it, and
// never nil if it does.
func words(l list[value[string]]) []string {
	if !l.given() {
		return nil
	}
	out := make([]string, 0, len(l.items))
	for _, item := range l.items {
		if item.v != "" {
			out = append(out, item.v)
		}
	}
	return out
}

// entry is one entry of a mapping from names to things.
type entry[T any] struct {
	name *node
	v    T
}

// dictPart takes a mapping from names to things.
type dictPart[T any] struct {
	to   *[]entry[T]
	part func(*T) part
	says string
}

// dict takes a mapping whose keys are names; thing makes the part for one
// entry's place. says completes "it must be …".
func dict[T any](to *[]entry[T], says string, thing func(*T) part) part {
	return dictPart[T]{to, thing, says}
}

// want says what the mapping is from and to.
func (p dictPart[T]) want() string { return p.says }

// decode keeps entries whose name or value is wrong: references to them are no
// mistakes of their own.
func (p dictPart[T]) decode(d *decoder, key, n *node) {
	if n.kind != kindMapping {
		d.wrong(key, n, p.says)
		return
	}
	what := &node{kind: kindText, text: "a name in " + key.text}
	for _, pair := range d.unique(n) {
		d.fitName(what, pair.key)
		e := entry[T]{name: pair.key}
		if pair.value.kind == kindNull {
			d.fail(pair.key.at, "%s has no value; give it one, or remove it", nameOf(pair.key))
		} else {
			p.part(&e.v).decode(d, pair.key, pair.value)
		}
		*p.to = append(*p.to, e)
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
func (p laterPart) decode(d *decoder, key, _ *node) { d.notYet(key.at, clip(key.text), p.hint) }

// notYet reports something that comes with a later version.
func (d *decoder) notYet(at position, what, hint string) {
	if hint == "" {
		hint = "remove it"
	}
	d.fail(at, "%s: not yet in this version; %s", what, hint)
}
