package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Typed is an agent.Tool whose input is the Go type In. Its schema is generated from that
// type, and inputs are checked against it before run gets them.
//
// An input that does not fit is refused with a text that says what would fit. That is
// stricter than a JSON decoder: silently ignoring a field, such as one that narrows a
// search, would mislead the model.
type Typed[In any] struct {
	spec     agent.Spec
	known    []string // all fields, in order
	required []string
	run      func(ctx context.Context, in In) agent.ToolResult
	// fresh holds the defaults of fields that an input omits.
	fresh In
	// canon returns the canonical form of a path; nil if inputs have no paths.
	canon func(path string) string
	// paths names the fields that hold paths.
	paths []string
	// locate returns the paths that an input reaches; nil: those in the fields of paths.
	locate func(in In) []string
	Shown  func(response json.RawMessage) (agent.ToolResult, error) // nil if only run can make the text
}

// NewTyped completes spec with the schema of In; about describes the fields by name. adjust,
// if not nil, adds what Go types cannot express.
func NewTyped[In any](spec agent.Spec, about map[string]string, adjust func(*jsonschema.Schema),
	run func(context.Context, In) agent.ToolResult,
) *Typed[In] {
	known, ok := shapes.Load(reflect.TypeFor[In]())
	if !ok {
		known, _ = shapes.LoadOrStore(reflect.TypeFor[In](), shapeOf[In](about, adjust))
	}
	made := known.(shape)
	spec.Schema = made.schema
	return &Typed[In]{spec: spec, known: made.known, required: made.required, run: run}
}

// shape describes the input of a tool.
type shape struct {
	schema          json.RawMessage
	known, required []string // fields, in order
}

// shapes caches the shape of each tool's input type, so that all members share one copy of
// the schemas.
var shapes sync.Map

func shapeOf[In any](about map[string]string, adjust func(*jsonschema.Schema)) shape {
	schema, err := jsonschema.For[In](nil)
	if err != nil { // only types with cycles, channels and the like; a test covers every tool
		schema = &jsonschema.Schema{Type: "object"}
		about, adjust = nil, nil
	}
	for name, text := range about {
		schema.Properties[name].Description = text
	}
	if adjust != nil {
		adjust(schema)
	}
	return shape{texts.Encode(schema), schema.PropertyOrder, schema.Required}
}

// withPaths sets the fields that hold paths, and the function that makes paths canonical.
func (t *Typed[In]) withPaths(canon func(string) string, names ...string) *Typed[In] {
	t.canon, t.paths = canon, names
	return t
}

// Spec implements agent.Tool.
func (t *Typed[In]) Spec() agent.Spec { return t.spec }

// Run implements agent.Tool.
func (t *Typed[In]) Run(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	in, err := t.Read(call)
	if err != nil {
		return agent.Failed("%s: %v", t.spec.Name, err)
	}
	return t.run(ctx, in)
}

// Read parses and checks a call's input.
func (t *Typed[In]) Read(call agent.ToolCall) (In, error) {
	in := t.fresh
	if _, err := t.check(call.Input); err != nil {
		return in, err
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return in, typeMistake(err)
	}
	return in, nil
}

// Normalize implements agent.Normalizer: paths become absolute, without symbolic links and
// "..".
func (t *Typed[In]) Normalize(input json.RawMessage) json.RawMessage {
	// An invalid input stays as it is; Run reports what is wrong.
	fields, err := t.check(input)
	if err != nil {
		return input
	}
	changed := false
	for _, name := range t.paths {
		var path string
		if json.Unmarshal(fields[name], &path) != nil || path == "" {
			continue
		}
		if c := t.canon(path); c != path {
			fields[name] = texts.Encode(c)
			changed = true
		}
	}
	if !changed {
		return input
	}
	return t.ordered(fields)
}

// Locations implements agent.Locator.
func (t *Typed[In]) Locations(input json.RawMessage) []string {
	if t.locate != nil {
		in := t.fresh
		if json.Unmarshal(input, &in) == nil {
			return t.locate(in)
		}
	}
	fields, err := t.check(input)
	if err != nil {
		return nil
	}
	var named []string
	for _, name := range t.paths {
		var path string
		if json.Unmarshal(fields[name], &path) == nil {
			named = append(named, path)
		}
	}
	return named
}

// Render implements agent.Renderer.
func (t *Typed[In]) Render(response json.RawMessage) (agent.ToolResult, error) {
	if t.Shown == nil {
		return agent.ToolResult{}, fmt.Errorf("the text of a %s result cannot be made from its response", t.spec.Name)
	}
	return t.Shown(response)
}

// Rendering returns a function that renders a response, which a hook may have changed, with
// text.
func Rendering[Out any](text func(Out) string) func(json.RawMessage) (agent.ToolResult, error) {
	return func(response json.RawMessage) (agent.ToolResult, error) {
		var out Out
		decoder := json.NewDecoder(bytes.NewReader(response))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&out); err != nil {
			return agent.ToolResult{}, fmt.Errorf("not the shape of the tool's response: %w", err)
		}
		return agent.ToolResult{Content: text(out)}, nil
	}
}

// ordered writes fields in the order of the schema, so that equal calls have equal bytes.
func (t *Typed[In]) ordered(fields map[string]json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for _, name := range t.known {
		if fields[name] == nil {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%q:%s", name, fields[name])
	}
	out.WriteByte('}')
	return out.Bytes()
}

// check checks that input is an object with only known fields and all required ones. Names
// must match exactly: the JSON decoder accepts "Command" for "command", which would let a
// call evade a permission rule about the latter.
func (t *Typed[In]) check(input json.RawMessage) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("the input is not a JSON object; it has the fields %s",
			strings.Join(t.known, ", "))
	}
	var unknown []string
	for name := range fields {
		if !slices.Contains(t.known, name) {
			unknown = append(unknown, fmt.Sprintf("%.60q", name))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, fmt.Errorf("unknown field %s; the fields are %s",
			strings.Join(unknown[:min(len(unknown), 5)], ", "), strings.Join(t.known, ", "))
	}
	for _, name := range t.required {
		if fields[name] == nil || string(fields[name]) == "null" {
			return nil, fmt.Errorf("field %q is missing; it is required", name)
		}
	}
	return fields, nil
}

// typeMistake rewords a JSON decoder's type error.
func typeMistake(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		want := wrong.Type.String()
		switch {
		case strings.HasPrefix(want, "int"):
			want = "whole number"
		case want == "bool":
			want = "true or false"
		}
		return fmt.Errorf("field %q must be a %s, not a %s", wrong.Field, want, wrong.Value)
	}
	return err
}

// Success returns the result of a successful call: the text for the model, and the
// structured response for hooks.
func Success(content string, response any) agent.ToolResult {
	return agent.ToolResult{Content: content, Response: texts.Encode(response)}
}
