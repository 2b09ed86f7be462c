package configs

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs/yaml"
)

// TestSchemaAgrees: schema and decoder are made from the same tables, so they
// must take and refuse the same specs. Specs are drawn from the schema, with a
// slip here and there. What only the whole spec can tell (references, files,
// rules about hooks) is beyond both.
func TestSchemaAgrees(t *testing.T) {
	resolved := validator(t)
	root := resolved.Schema()
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			s := sampler{t: t, root: root, slips: rapid.IntRange(0, 2).Draw(t, "slips")}
			verdicts[agree(t, resolved, s.value(root, 0))]++
		}
	})
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("the samples were all alike: %v", verdicts)
	}
}

// agree holds schema and decoder against one value. It returns whether they
// take it.
func agree(t *rapid.T, resolved *jsonschema.Resolved, value any) bool {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	invalid, problems := resolved.Validate(plain), shapeProblems(string(text))
	if (invalid == nil) != (len(problems) == 0) {
		t.Fatalf("the schema says %v, the decoder %v of\n%s", invalid, problems, text)
	}
	return invalid == nil
}

// shapeProblems decodes a spec and resolves nothing. Whether a text is a
// permission rule is for package hooks to say, which no schema can ask.
func shapeProblems(spec string) []yaml.Problem {
	d := yaml.NewDecoder("t.json", []byte(spec))
	if d.Root != nil {
		d.Object(nil, d.Root, (&teamSpec{}).fields())
	}
	return slices.DeleteFunc(d.Problems, func(p yaml.Problem) bool {
		return strings.HasPrefix(p.Message, "not a permission rule") || isGlobFault(p.Message)
	})
}

// isGlobFault reports whether a message is of globsPart: a pattern cannot ask what
// a glob may be.
func isGlobFault(message string) bool {
	for _, text := range []string{"is no glob", "must start at the workspace", "must not hold . or ..", "fits no file"} {
		if strings.Contains(message, text) {
			return true
		}
	}
	return false
}

// sampler draws values from a schema.
type sampler struct {
	t     *rapid.T
	root  *jsonschema.Schema
	slips int // how many parts may still be wrong
}

// value draws a value for shape, or now and then any other.
func (s *sampler) value(shape *jsonschema.Schema, depth int) any {
	if s.slips > 0 && depth > 0 && rapid.IntRange(0, 30).Draw(s.t, "slip") == 0 {
		s.slips--
		return s.anything()
	}
	switch {
	case shape.Ref != "":
		return s.value(s.root.Defs[strings.TrimPrefix(shape.Ref, "#/$defs/")], depth)
	case len(shape.AnyOf) > 0:
		return s.value(rapid.SampledFrom(shape.AnyOf).Draw(s.t, "form"), depth)
	case shape.Enum != nil:
		return rapid.SampledFrom(shape.Enum).Draw(s.t, "word")
	}
	switch shape.Type {
	case "object":
		return s.object(shape, depth)
	case "array":
		return s.list(shape, depth)
	case "string":
		return s.text(shape)
	case "integer":
		return rapid.Int64Range(0, int64(*shape.Maximum)).Draw(s.t, "whole")
	case "number":
		return rapid.Float64Range(0, 1e6).Draw(s.t, "number")
	case "boolean":
		return rapid.Bool().Draw(s.t, "flag")
	}
	return s.anything() // a key of a later version: whatever it holds is refused
}

func (s *sampler) object(shape *jsonschema.Schema, depth int) any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(shape.Properties)) {
		property := shape.Properties[key]
		chance := 3 + 2*depth
		if property.Not != nil {
			chance = 300 // a later key spoils the whole sample
		}
		if slices.Contains(shape.Required, key) || rapid.IntRange(0, chance).Draw(s.t, "has "+key) == 0 {
			out[key] = s.value(property, depth+1)
		}
	}
	if more := shape.AdditionalProperties; more != nil && more.Not == nil {
		for _, name := range rapid.SliceOfN(s.name(), 0, 3).Draw(s.t, "names") {
			out[name] = s.value(more, depth+1)
		}
	}
	if s.slips > 0 && rapid.IntRange(0, 40).Draw(s.t, "drop") == 0 {
		s.slips--
		for _, key := range shape.Required {
			delete(out, key)
		}
		out[rapid.SampledFrom([]string{"nope", "lead", "use", "run"}).Draw(s.t, "extra")] = s.anything()
	}
	return out
}

func (s *sampler) list(shape *jsonschema.Schema, depth int) any {
	out := []any{}
	for range rapid.IntRange(0, 3).Draw(s.t, "length") {
		out = append(out, s.value(shape.Items, depth+1))
	}
	return out
}

// name draws names, most of them fit to be one.
func (s *sampler) name() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`), rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`),
		rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`), rapid.SampledFrom([]string{"", "A", "-a", "a_b", "a.b", "é"}))
}

// text draws texts that a pattern takes, or just misses.
func (s *sampler) text(shape *jsonschema.Schema) any {
	switch shape.Pattern {
	case yaml.NamePattern:
		return s.name().Draw(s.t, "name")
	case yaml.SpanPattern:
		return rapid.SampledFrom([]string{"1s", "90m", "1h30m", "1.5h", ".5s", "1.s", "+3s", "0", "+0", "-0", "10ms", "2us",
			"3µs", "4ns", "0s", "", "10", "s", "-1s", "1d", "1 s", "1s ", "1h-1m", "1.1.1s", "soon"}).Draw(s.t, "span")
	}
	return rapid.SampledFrom([]string{"x", "Read", "Bash(go test *)", " a ", "ü: b", "a\nb", "*", "&x", "null", "3", "true",
		"{}", "- a", "# a", "'", "\"", "\\", "", " ", "\n\t"}).Draw(s.t, "text")
}

// anything draws a value of any kind.
func (s *sampler) anything() any {
	return rapid.SampledFrom([]any{nil, true, 0, 1, -1, 3, 1.5, int64(1) << 60, "", "x", "script", "builtin", "acp", "openai",
		[]any{}, []any{"x"}, []any{"x", "x"}, []any{1}, []any{[]any{}}, map[string]any{}, map[string]any{"x": 1}}).Draw(s.t, "value")
}
