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

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/teammate/agent"
)

// Typed is a agent.Tool whose input is the Go type In. Its schema is made
// from that type, and inputs are held against it before run gets them.
//
// An input that does not fit is refused with a text that says what would. That
// is stricter than a JSON decoder: a field that is silently ignored, such as
// one that narrows a search, would make a model believe what is not so.
type Typed[In any] struct {
	spec     agent.Spec
	known    []string // all fields, in order
	required []string
	run      func(ctx context.Context, in In) agent.ToolResult
	// fresh is what the fields are that an input does not have.
	fresh In
	// canon brings paths of an input into their one form; nil: it has none.
	canon func(path string) string
	// paths are the fields that hold paths.
	paths []string
	// locate is which paths an input reaches; nil: those in the fields of paths.
	locate func(in In) []string
	Shown  func(response json.RawMessage) (string, error) // nil: only run knows the text
}

// NewTyped completes spec with the schema of In, in which about describes the
// fields by name. adjust, if not nil, adds what Go types cannot say.
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

// shape is what the input of a tool looks like.
type shape struct {
	schema          json.RawMessage
	known, required []string // fields, in order
}

// shapes has the shape of each tool's input type: every member has these
// tools, and one copy of their schemas serves them all.
var shapes sync.Map

func shapeOf[In any](about map[string]string, adjust func(*jsonschema.Schema)) shape {
	schema, err := jsonschema.For[In](nil)
	if err != nil { // only types with cycles, channels and the like; a test makes every tool
		schema = &jsonschema.Schema{Type: "object"}
		about, adjust = nil, nil
	}
	for name, text := range about {
		schema.Properties[name].Description = text
	}
	if adjust != nil {
		adjust(schema)
	}
	return shape{rawjson.Encode(schema), schema.PropertyOrder, schema.Required}
}

// withPaths names the fields that hold paths, and what gives them one form.
func (t *Typed[In]) withPaths(canon func(string) string, names ...string) *Typed[In] {
	t.canon, t.paths = canon, names
	return t
}

// Spec is agent.Tool's.
func (t *Typed[In]) Spec() agent.Spec { return t.spec }

// Run is agent.Tool's.
func (t *Typed[In]) Run(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	in, err := t.Read(call)
	if err != nil {
		return agent.Failed(fmt.Sprintf("%s: %v", t.spec.Name, err))
	}
	return t.run(ctx, in)
}

// Read reads and checks a call's input.
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

// Normalize is agent.Normalizer's: paths become absolute, without symbolic
// links and "..".
func (t *Typed[In]) Normalize(input json.RawMessage) json.RawMessage {
	// What the tool would refuse needs no other form; Run says what is wrong.
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
			fields[name] = rawjson.Encode(c)
			changed = true
		}
	}
	if !changed {
		return input
	}
	return t.ordered(fields)
}

// Locations is agent.Locator's.
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

// Render is agent.Renderer's.
func (t *Typed[In]) Render(response json.RawMessage) (string, error) {
	if t.Shown == nil {
		return "", fmt.Errorf("the text of a %s result cannot be made from its response", t.spec.Name)
	}
	return t.Shown(response)
}

// Rendering makes a text of a response that a hook may have changed, as text
// does of the tool's own.
func Rendering[Out any](text func(Out) string) func(json.RawMessage) (string, error) {
	return func(response json.RawMessage) (string, error) {
		var out Out
		decoder := json.NewDecoder(bytes.NewReader(response))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&out); err != nil {
			return "", fmt.Errorf("not the shape of the tool's response: %w", err)
		}
		return text(out), nil
	}
}

// ordered writes fields in the order of the schema, so that the same call
// always looks the same.
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

// check finds out whether input is an object with known fields only, and all
// that are required. Names must match to the letter: the JSON decoder takes
// "Command" for "command", and a permission rule that looks at the one must
// not be passed by the other.
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

// typeMistake says in words what a JSON decoder found wrong.
func typeMistake(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
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

// Success is the result of a call that did its work: what the model sees, and
// the structured response for hooks.
func Success(content string, response any) agent.ToolResult {
	return agent.ToolResult{Content: content, Response: rawjson.Encode(response)}
}
