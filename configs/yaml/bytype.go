package yaml

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// KindFields are the keys of a mapping whose type is kind.
type KindFields struct {
	Kind   string
	Fields []Field
}

// ObjectByType takes a mapping whose keys depend on its type, and stores its node in at.
func ObjectByType(at **Node, kinds []KindFields) Part { return byType{at, kinds} }

// byType takes a mapping whose keys depend on the value of its key "type".
type byType struct {
	at    **Node // remembers where the mapping is
	kinds []KindFields
}

// Want names the kind alone, as an object does.
func (p byType) Want() string { return "a mapping" }

// Decode uses the keys of the first type if the mapping has no type or an unknown one;
// the key "type" then reports the mistake.
func (p byType) Decode(d *Decoder, key, n *Node) {
	chosen := p.kinds[0]
	if t := n.Lookup("type"); n.Kind == MappingKind && t != nil {
		for _, k := range p.kinds {
			if t.Kind == TextKind && t.Text == k.Kind {
				chosen = k
			}
		}
	}
	Object(p.at, chosen.Fields).Decode(d, key, n)
}

// Schema allows the keys of a type only with that type.
func (p byType) Schema() *JSON {
	out := Of(jsonschema.Schema{})
	for _, k := range p.kinds {
		out.AnyOf = append(out.AnyOf, out.Take(ObjectSchema(k.Fields)))
	}
	return out
}

// TypeWord takes the type of a mapping: one of words. own is the type that this table of
// keys is for.
func TypeWord(to *string, own string, words ...string) Part {
	last := len(words) - 1
	says := strings.Join(words[:last], ", ") + " or " + words[last]
	return typePart{Into(to, func(v *Value[string]) Part { return textPart{to: v, desc: says, enum: words} }), own}
}

// typePart takes any type of a mapping; its schema allows only the one that its table of
// keys is for.
type typePart struct {
	Part
	own string
}

// Schema names the one type.
func (p typePart) Schema() *JSON { return Of(jsonschema.Schema{Type: "string", Enum: []any{p.own}}) }

// BelongsTo marks a key that only mappings of type owner have.
func BelongsTo(owner string) Part { return elsewhere{owner} }

// elsewhere is a key that mappings of another type have.
type elsewhere struct{ owner string }

// Want is never shown: no kind of value is right.
func (p elsewhere) Want() string { return "nothing" }

// Decode ignores the value, because the key does not belong here.
func (p elsewhere) Decode(d *Decoder, key, _ *Node) {
	d.Fail(key.At, "%s belongs to type: %s; remove it, or change the type", Clip(key.Text), p.owner)
}

// Schema allows nothing, so that editors mark the key.
func (p elsewhere) Schema() *JSON { return Of(*Never()) }

// TextsByKey takes a mapping from any keys to text; keys names the keys in messages, in
// the plural.
func TextsByKey(to *[]Entry[Value[string]], keys string) Part { return namedTexts{to, keys} }

// namedTexts takes a mapping from headers to their values.
type namedTexts struct {
	to   *[]Entry[Value[string]]
	keys string // their name in messages
}

// Want names the keys and the values.
func (p namedTexts) Want() string { return "a mapping from " + p.keys + " to text" }

// texts returns the pairs of a mapping, each key once. It reports a mistake, and returns none,
// if n is not a mapping or has too many.
func (d *Decoder) texts(key, n *Node, want string) []Pair {
	if n.Kind != MappingKind {
		d.Wrong(key, n, want)
		return nil
	}
	if !d.CheckCount(key, n, len(n.Pairs)) {
		return nil
	}
	return d.Unique(n)
}

// Decode accepts any header name; package hooks checks the names.
func (p namedTexts) Decode(d *Decoder, key, n *Node) {
	for _, pair := range d.texts(key, n, p.Want()) {
		e := Entry[Value[string]]{Name: pair.Key}
		AnyText(&e.V).Decode(d, pair.Key, pair.Value)
		*p.to = append(*p.to, e)
	}
}

// Schema allows any names.
func (p namedTexts) Schema() *JSON {
	out := OpenMapping()
	out.AdditionalProperties = &jsonschema.Schema{Type: "string"}
	return out
}

// OpenMapping is the schema of a mapping with any names.
func OpenMapping() *JSON { return Of(jsonschema.Schema{Type: "object"}) }
