package configs

import (
	"cmp"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
)

// kindFields are the keys of a mapping whose type is kind.
type kindFields struct {
	kind   string
	fields []field
}

// byType takes a mapping whose keys depend on what it says under "type".
type byType struct {
	at    **yaml.Node // remembers where the mapping is
	kinds []kindFields
}

// want names the kind alone, as an object does.
func (p byType) want() string { return "a mapping" }

// decode takes the keys of the first type where the mapping has none, or one that
// there is not: that is then the mistake.
func (p byType) decode(d *decoder, key, n *yaml.Node) {
	chosen := p.kinds[0]
	if t := n.Lookup("type"); n.Kind == yaml.Mapping && t != nil {
		for _, k := range p.kinds {
			if t.Kind == yaml.Text && t.Text == k.kind {
				chosen = k
			}
		}
	}
	object(p.at, chosen.fields).decode(d, key, n)
}

// schema allows the keys of each type with that type alone.
func (p byType) schema() *schema {
	out := of(jsonschema.Schema{})
	for _, k := range p.kinds {
		out.AnyOf = append(out.AnyOf, out.take(objectSchema(k.fields)))
	}
	return out
}

// typePart takes the type of a mapping, any of them; its schema allows the one
// whose keys stand beside it.
type typePart struct {
	textPart
	own string
}

// schema names the one type.
func (p typePart) schema() *schema { return of(jsonschema.Schema{Type: "string", Enum: []any{p.own}}) }

// elsewhere is a key that mappings of another type have.
type elsewhere struct{ owner string }

// want is never shown: no kind of value is right.
func (p elsewhere) want() string { return "nothing" }

// decode does not look at the value, as the key has no place here.
func (p elsewhere) decode(d *decoder, key, _ *yaml.Node) {
	d.fail(key.At, "%s belongs to type: %s; remove it, or change the type", yaml.Clip(key.Text), p.owner)
}

// schema allows nothing, so that editors mark the key.
func (p elsewhere) schema() *schema { return of(*never()) }

// headersPart takes a mapping from headers to their values.
type headersPart struct {
	to   *[]entry[value[string]]
	keys string // what they are; empty: headers
}

// want says what it is from and to.
func (p headersPart) want() string { return "a mapping from " + cmp.Or(p.keys, "headers") + " to text" }

// decode leaves it to package hooks what a header may be called.
func (p headersPart) decode(d *decoder, key, n *yaml.Node) {
	switch {
	case n.Kind != yaml.Mapping:
		d.wrong(key, n, p.want())
		return
	case len(n.Pairs) > maxTexts:
		d.fail(n.At, "%s has more than %d entries; shorten it", nameOf(key), maxTexts)
		return
	}
	for _, pair := range d.unique(n) {
		e := entry[value[string]]{name: pair.Key}
		anyText(&e.v).decode(d, pair.Key, pair.Value)
		*p.to = append(*p.to, e)
	}
}

// schema allows any names.
func (p headersPart) schema() *schema {
	out := openMapping()
	out.AdditionalProperties = &jsonschema.Schema{Type: "string"}
	return out
}

// openMapping is the schema of a mapping with any names.
func openMapping() *schema { return of(jsonschema.Schema{Type: "object"}) }
