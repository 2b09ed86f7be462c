package yaml

import "github.com/google/jsonschema-go/jsonschema"

// JSON is what a part says of itself. Parts that occur more than once have a
// name; their schema becomes a definition.
type JSON struct {
	jsonschema.Schema
	Defs map[string]*jsonschema.Schema
}

// Of makes a schema without definitions of its own.
func Of(s jsonschema.Schema) *JSON { return &JSON{Schema: s} }

// Take moves the definitions of a child into s and returns the child's own
// schema.
func (s *JSON) Take(child *JSON) *jsonschema.Schema {
	for name, def := range child.Defs {
		if s.Defs == nil {
			s.Defs = map[string]*jsonschema.Schema{}
		}
		s.Defs[name] = def
	}
	return &child.Schema
}

// ObjectSchema is the schema of a mapping with known keys.
func ObjectSchema(fields []Field) *JSON {
	out := Of(jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: Never(),
	})
	for _, f := range fields {
		property := out.Take(f.Part.Schema())
		property.Description = f.Doc
		out.Properties[f.Key] = property
		out.PropertyOrder = append(out.PropertyOrder, f.Key)
		if f.Need {
			out.Required = append(out.Required, f.Key)
		}
	}
	return out
}

// Never is the schema that nothing fits.
func Never() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// Schema gives a pattern for what the decoder asks of a text, so far as patterns can.
func (p textPart) Schema() *JSON {
	out := jsonschema.Schema{Type: "string"}
	switch {
	case p.enum != nil:
		for _, word := range p.enum {
			out.Enum = append(out.Enum, word)
		}
	case p.name:
		out.Pattern = NamePattern
	case !p.any:
		out.Pattern = `\S`
	}
	return Of(out)
}

// Schema is that of the table.
func (p objectPart) Schema() *JSON { return ObjectSchema(p.fields) }

// Schema allows both forms.
func (p eitherPart) Schema() *JSON {
	out := Of(jsonschema.Schema{})
	out.AnyOf = []*jsonschema.Schema{out.Take(p.short.Schema()), out.Take(p.long.Schema())}
	return out
}

// Schema makes an entry to ask what entries are like.
func (p listPart[T]) Schema() *JSON {
	out := Of(jsonschema.Schema{Type: "array"})
	out.Items = out.Take(p.part(new(T)).Schema())
	return out
}

// Schema adds that no entry comes twice.
func (p uniqueTexts) Schema() *JSON {
	out := p.listPart.Schema()
	out.UniqueItems = true
	return out
}

// Schema allows any name, and under it what the entries are like.
func (p dictPart[T]) Schema() *JSON {
	out := Of(jsonschema.Schema{Type: "object", PropertyNames: &jsonschema.Schema{Pattern: p.form.Pattern}})
	out.AdditionalProperties = out.Take(p.part(new(T)).Schema())
	return out
}

// sharedPart is a part with a name of its own in the schema.
type sharedPart struct {
	Part
	name string
}

// Shared gives a part that occurs in several places a name in the schema.
func Shared(name string, p Part) Part { return sharedPart{p, name} }

// Schema refers to a definition, which travels up to the root in defs.
func (p sharedPart) Schema() *JSON {
	inner := p.Part.Schema()
	out := Of(jsonschema.Schema{Ref: "#/$defs/" + p.name})
	def := out.Take(inner)
	if out.Defs == nil {
		out.Defs = map[string]*jsonschema.Schema{}
	}
	out.Defs[p.name] = def
	return out
}
