package configs

import "github.com/coveyteam/covey/configs/yaml"

// objectPart takes a mapping with known keys.
type objectPart struct {
	at     **yaml.Node // optional: remembers where the mapping is
	fields []field
}

// object takes a mapping with the keys of a table. at may be nil.
func object(at **yaml.Node, fields []field) part { return objectPart{at, fields} }

// want names the kind alone; the keys are in messages of their own.
func (p objectPart) want() string { return "a mapping" }

// decode remembers the mapping even if something in it is wrong, so that the
// resolver sees that it is there.
func (p objectPart) decode(d *decoder, key, n *yaml.Node) {
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
func (p eitherPart) decode(d *decoder, key, n *yaml.Node) {
	switch n.Kind {
	case yaml.Text:
		p.short.decode(d, key, n)
	case yaml.Mapping:
		p.long.decode(d, key, n)
	default:
		d.fail(n.At, "%s must be %s, not %s", nameOf(key), p.says, n.Describe())
	}
}

// list is a list of the spec with its place.
type list[T any] struct {
	items []T
	at    *yaml.Node // nil: the spec does not give it
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

// argsPart takes a list of texts that may be empty or repeated.
func argsPart(to *list[value[string]]) listPart[value[string]] {
	return listPart[value[string]]{to, anyText, "a list of texts"}
}

// want says what the list is of.
func (p listPart[T]) want() string { return p.says }

// decode makes a place for every entry, wrong ones too: package hooks finds its
// mistakes by index.
func (p listPart[T]) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	if n.Kind != yaml.List {
		d.wrong(key, n, p.says)
		return
	}
	p.to.items = make([]T, len(n.Items))
	for i, item := range n.Items {
		p.part(&p.to.items[i]).decode(d, entryKey(key), item)
	}
}

// entryKey names the entries of a list in messages.
func entryKey(key *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.Text, Text: "an entry of " + key.Text, At: key.At}
}

// uniqueTexts is a list of texts without repetitions.
type uniqueTexts struct{ listPart[value[string]] }

// decode refuses repetitions, which in lists of names are slips, and lists that
// no person wrote.
func (p uniqueTexts) decode(d *decoder, key, n *yaml.Node) {
	p.listPart.decode(d, key, n)
	if len(p.to.items) > maxTexts {
		d.fail(n.At, "%s has more than %d entries; shorten it", nameOf(key), maxTexts)
		p.to.items = nil
	}
	seen := map[string]bool{}
	for _, item := range p.to.items {
		if item.v != "" && seen[item.v] {
			d.fail(item.at.At, "%s names %s twice; keep one", nameOf(key), yaml.Quote(item.v))
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
	name *yaml.Node
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
func (p dictPart[T]) decode(d *decoder, key, n *yaml.Node) {
	if n.Kind != yaml.Mapping {
		d.wrong(key, n, p.says)
		return
	}
	what := &yaml.Node{Kind: yaml.Text, Text: "a name in " + key.Text}
	for _, pair := range d.unique(n) {
		d.fitName(what, pair.Key)
		e := entry[T]{name: pair.Key}
		if pair.Value.Kind == yaml.Null {
			d.fail(pair.Key.At, "%s has no value; give it one, or remove it", nameOf(pair.Key))
		} else {
			p.part(&e.v).decode(d, pair.Key, pair.Value)
		}
		*p.to = append(*p.to, e)
	}
}
