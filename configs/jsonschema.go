package configs

import "github.com/google/jsonschema-go/jsonschema"

// schema is what a part says of itself. Parts that occur more than once have a
// name; their schema becomes a definition.
type schema struct {
	jsonschema.Schema
	defs map[string]*jsonschema.Schema
}

// of makes a schema without definitions of its own.
func of(s jsonschema.Schema) *schema { return &schema{Schema: s} }

// take moves the definitions of a child into s and returns the child's own
// schema.
func (s *schema) take(child *schema) *jsonschema.Schema {
	for name, def := range child.defs {
		if s.defs == nil {
			s.defs = map[string]*jsonschema.Schema{}
		}
		s.defs[name] = def
	}
	return &child.Schema
}

// objectSchema is the schema of a mapping with known keys.
func objectSchema(fields []field) *schema {
	out := of(jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: never(),
	})
	for _, f := range fields {
		property := out.take(f.part.schema())
		property.Description = f.doc
		if _, isLater := f.part.(laterPart); isLater {
			property.Description += " Not yet in this version."
		}
		out.Properties[f.key] = property
		out.PropertyOrder = append(out.PropertyOrder, f.key)
		if f.need {
			out.Required = append(out.Required, f.key)
		}
	}
	return out
}

// never is the schema that nothing fits.
func never() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// schema gives a pattern for what the decoder asks of a text, so far as patterns can.
func (p textPart) schema() *schema {
	out := jsonschema.Schema{Type: "string"}
	switch {
	case p.enum != nil:
		for _, word := range p.enum {
			out.Enum = append(out.Enum, word)
		}
	case p.name:
		out.Pattern = namePattern
	case !p.any:
		out.Pattern = `\S`
	}
	return of(out)
}

// schema allows 1.0, which JSON cannot tell from 1.
func (p wholePart) schema() *schema {
	return of(jsonschema.Schema{Type: "integer", Minimum: new(float64(p.least)), Maximum: new(float64(p.most))})
}

// schema allows what JSON can write; infinite is not among it.
func (p amountPart) schema() *schema {
	return of(jsonschema.Schema{Type: "number", Minimum: new(0.0)})
}

// schema allows the two words.
func (p truthPart) schema() *schema { return of(jsonschema.Schema{Type: "boolean"}) }

// spanPattern is the form of a time.Duration that is not negative.
const spanPattern = `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)` +
	`(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$|^[-+]?0$`

// schema allows a time with its unit, or 0.
func (p spanPart) schema() *schema {
	return of(jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string", Pattern: spanPattern},
		{Type: "integer", Enum: []any{0}},
	}})
}

// schema is that of the table.
func (p objectPart) schema() *schema { return objectSchema(p.fields) }

// schema allows both forms.
func (p eitherPart) schema() *schema {
	out := of(jsonschema.Schema{})
	out.AnyOf = []*jsonschema.Schema{out.take(p.short.schema()), out.take(p.long.schema())}
	return out
}

// schema makes an entry to ask what entries are like.
func (p listPart[T]) schema() *schema {
	out := of(jsonschema.Schema{Type: "array"})
	out.Items = out.take(p.part(new(T)).schema())
	return out
}

// schema adds that no entry comes twice.
func (p uniqueTexts) schema() *schema {
	out := p.listPart.schema()
	out.UniqueItems = true
	return out
}

// schema allows any name, and under it what the entries are like.
func (p dictPart[T]) schema() *schema {
	out := of(jsonschema.Schema{Type: "object", PropertyNames: &jsonschema.Schema{Pattern: namePattern}})
	out.AdditionalProperties = out.take(p.part(new(T)).schema())
	return out
}

// sharedPart is a part with a name of its own in the schema.
type sharedPart struct {
	part
	name string
}

// shared gives a part that occurs in several places a name in the schema.
func shared(name string, p part) part { return sharedPart{p, name} }

// schema refers to a definition, which travels up to the root in defs.
func (p sharedPart) schema() *schema {
	inner := p.part.schema()
	out := of(jsonschema.Schema{Ref: "#/$defs/" + p.name})
	def := out.take(inner)
	if out.defs == nil {
		out.defs = map[string]*jsonschema.Schema{}
	}
	out.defs[p.name] = def
	return out
}
