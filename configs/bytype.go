package configs

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
)

// kindFields are the keys of a mapping whose type is kind.
type kindFields struct {
	kind   string
	fields []field
}

// objectByType takes a mapping whose keys depend on its type. at remembers where it is.
func objectByType(at **yaml.Node, kinds []kindFields) part { return byType{at, kinds} }

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

// typeWord takes the type of a mapping: one of words. own is the one whose keys stand
// beside it.
func typeWord(to *value[string], own string, words ...string) part {
	last := len(words) - 1
	says := strings.Join(words[:last], ", ") + " or " + words[last]
	return typePart{textPart{to: to, desc: says, enum: words}, own}
}

// typePart takes the type of a mapping, any of them; its schema allows the one
// whose keys stand beside it.
type typePart struct {
	textPart
	own string
}

// schema names the one type.
func (p typePart) schema() *schema { return of(jsonschema.Schema{Type: "string", Enum: []any{p.own}}) }

// belongsTo marks a key that only mappings of type owner have.
func belongsTo(owner string) part { return elsewhere{owner} }

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

// textsByKey takes a mapping from any keys to text; keys says what they are, in the plural.
func textsByKey(to *[]entry[value[string]], keys string) part { return namedTexts{to, keys} }

// namedTexts takes a mapping from headers to their values.
type namedTexts struct {
	to   *[]entry[value[string]]
	keys string // what they are
}

// want says what it is from and to.
func (p namedTexts) want() string { return "a mapping from " + p.keys + " to text" }

// decode leaves it to package hooks what a header may be called.
func (p namedTexts) decode(d *decoder, key, n *yaml.Node) {
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
func (p namedTexts) schema() *schema {
	out := openMapping()
	out.AdditionalProperties = &jsonschema.Schema{Type: "string"}
	return out
}

// openMapping is the schema of a mapping with any names.
func openMapping() *schema { return of(jsonschema.Schema{Type: "object"}) }
