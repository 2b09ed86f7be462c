package yaml

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// VariableValue is the value of a variable: a text, or a mapping with the file that holds it.
type VariableValue struct {
	Text Value[string]
	At   *Node // of the mapping; nil for a text
	File Value[string]
}

// fields returns the keys of the mapping.
func (v *VariableValue) fields() []Field {
	return []Field{{Key: "file", Need: true, Part: Text(&v.File),
		Doc: "The file that holds the value, relative to the spec. A line break at its end is dropped."}}
}

// Env takes a mapping from names of variables to their values, in file order.
func Env(to *[]Entry[VariableValue]) Part { return envPart{to} }

// envPart decodes a mapping from names of variables to their values.
type envPart struct{ to *[]Entry[VariableValue] }

// Want reports that values are text, because people write PORT: 8080.
func (p envPart) Want() string { return "a mapping from variables to text, or to {file: PATH}" }

// Decode accepts numbers, true and false and keeps their text as it is written, because
// variables hold text.
func (p envPart) Decode(d *Decoder, key, n *Node) {
	for _, pair := range d.texts(key, n, p.Want()) {
		if !d.CheckVariable(pair.Key) {
			continue
		}
		e := Entry[VariableValue]{Name: pair.Key}
		switch v := pair.Value; {
		case v.Kind == MappingKind:
			Object(&e.V.At, e.V.fields()).Decode(d, pair.Key, v)
			*p.to = append(*p.to, e)
		case v.Kind == NullKind:
			d.Fail(pair.Key.At, "%s has no value; give it one, write \"\" for an empty one, or remove it",
				NameOf(pair.Key))
		case !IsScalar(v):
			d.Fail(v.At, "%s must be text or {file: PATH}, not %s", NameOf(pair.Key), v.Describe())
		case strings.ContainsRune(v.Text, 0):
			d.Fail(v.At, "%s contains the character NUL, which no variable can contain; remove it", NameOf(pair.Key))
		default:
			e.V.Text = Value[string]{V: v.Text, At: v}
			*p.to = append(*p.to, e)
		}
	}
}

// Schema allows scalars, whose text is used.
func (p envPart) Schema() *JSON {
	file := ObjectSchema((&VariableValue{}).fields())
	return Of(jsonschema.Schema{
		Type:          "object",
		PropertyNames: &jsonschema.Schema{Pattern: VariablePattern},
		AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string"}, {Type: "number"}, {Type: "boolean"}, &file.Schema,
		}},
	})
}
