package permission

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Tool is a tool with its spec and its resolved schema.
type Tool struct {
	Spec   agent.Spec
	Runner agent.Tool           // runs its calls; nil if an agent program does
	schema *jsonschema.Resolved // nil: any object is valid
}

// NewTool reads the spec of a tool.
func NewTool(t agent.Tool) (*Tool, error) {
	spec := t.Spec()
	schema, err := resolveSchema(spec.Schema)
	if err != nil {
		return nil, fmt.Errorf("schema of tool %s: %w", spec.Name, err)
	}
	return &Tool{Spec: spec, Runner: t, schema: schema}, nil
}

// Toolset is the tools of a member: its own, and others that come and go, such as those of MCP servers. It
// is used by one goroutine at a time, that of the member's turn.
type Toolset struct{ own, others map[string]*Tool }

// Index reads the specs of a member's own tools.
func Index(list []agent.Tool) (Toolset, error) {
	var set Toolset
	if len(list) > 0 {
		set.own = make(map[string]*Tool, len(list))
	}
	for _, runner := range list {
		t, err := NewTool(runner)
		if err != nil {
			return Toolset{}, err
		}
		if t.Spec.Name == "" || set.own[t.Spec.Name] != nil {
			return Toolset{}, fmt.Errorf("tool name %q is empty or there twice", t.Spec.Name)
		}
		set.own[t.Spec.Name] = t
	}
	return set, nil
}

// Named returns the tool with a name, or nil.
func (s *Toolset) Named(name string) *Tool {
	if t := s.own[name]; t != nil {
		return t
	}
	return s.others[name]
}

// Replace makes list the other tools and returns their specs. It leaves out tools that NewTool
// refuses and those whose name is taken.
func (s *Toolset) Replace(list []agent.Tool) (specs []agent.Spec) {
	s.others = make(map[string]*Tool, len(list))
	for _, runner := range list {
		if t, err := NewTool(runner); err == nil && s.Named(t.Spec.Name) == nil {
			s.others[t.Spec.Name] = t
			specs = append(specs, t.Spec)
		}
	}
	return specs
}

// Server returns what hooks read of the MCP server that the tool belongs to; nil: it belongs to none.
// The source is that of recorded hosts for a server that no settings file names.
func (t *Tool) Server() *hooks.MCPServer {
	if t.Spec.Server == "" {
		return nil
	}
	return &hooks.MCPServer{Name: t.Spec.Server, Source: "dynamic"}
}

// resolved caches the schemas that resolveSchema has parsed, by their text. All members of a team
// have the same tools; without sharing an idle member would need ten times the memory.
var resolved sync.Map

func resolveSchema(raw json.RawMessage) (*jsonschema.Resolved, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if known, ok := resolved.Load(string(raw)); ok {
		return known.(*jsonschema.Resolved), nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	fresh, err := schema.Resolve(nil)
	if err == nil {
		resolved.Store(string(raw), fresh)
	}
	return fresh, err
}

// Prepare converts a call's input to the form that hooks, rules and the tool see: repaired,
// checked against the schema, and with absolute paths. All of them see the same JSON; otherwise
// a call could mean one thing to a rule and another to the tool.
func (t *Tool) Prepare(call *agent.ToolCall, cwd string) error {
	fields, err := t.check(call)
	if err != nil {
		return err
	}
	if n, ok := t.Runner.(agent.Normalizer); ok {
		call.Input = n.Normalize(call.Input)
		return nil
	}
	call.Input = absolutePath(call.Input, fields, cwd)
	return nil
}

// PrepareInput converts the input of a call to the form that a tool runs: repaired, an object
// without ambiguous fields, and checked against the tool's schema. It is for callers that run a
// tool without a Host, and does what a Host does before the hooks, except that paths stay as
// they are. Its error is for the model.
func PrepareInput(tool agent.Tool, input json.RawMessage) (json.RawMessage, error) {
	t, err := NewTool(tool)
	if err != nil {
		return nil, err
	}
	call := agent.ToolCall{Name: t.Spec.Name, Input: input}
	if _, err := t.check(&call); err != nil {
		return nil, fmt.Errorf("the input of %s is not right: %w", t.Spec.Name, err)
	}
	return call.Input, nil
}

// Invalid returns the text that tells the model that the input of a call is invalid.
func Invalid(name string, err error) string {
	return fmt.Sprintf("<tool_use_error>InputValidationError: the input of %s is not right: %v</tool_use_error>",
		name, err)
}

// check repairs a call's input and checks it against the schema.
func (t *Tool) check(call *agent.ToolCall) ([]texts.Field, error) {
	if len(bytes.TrimSpace(call.Input)) == 0 {
		call.Input = json.RawMessage(`{}`)
	}
	if r, ok := t.Runner.(agent.Repairer); ok && json.Valid(call.Input) {
		call.Input = r.Repair(call.Input)
	}
	fields, err := objectFields(call.Input)
	if err != nil || t.schema == nil {
		return fields, err
	}
	var value any
	if err := json.Unmarshal(call.Input, &value); err != nil {
		return nil, err
	}
	if err := t.schema.Validate(value); err != nil {
		return fields, cmp.Or(unknownField(t.schema.Schema(), fields), err)
	}
	return fields, nil
}

// unknownField returns an error if an object has fields that its schema does not allow. It names
// those that the schema knows, which the error of the schema does not.
func unknownField(schema *jsonschema.Schema, fields []texts.Field) error {
	if schema.AdditionalProperties == nil || schema.AdditionalProperties.Not == nil || len(schema.PatternProperties) > 0 {
		return nil
	}
	var unknown []string
	for _, f := range fields {
		if schema.Properties[f.Name] == nil {
			unknown = append(unknown, fmt.Sprintf("%.60q", f.Name))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	if len(known) == 0 {
		return fmt.Errorf("unknown field %s; it has no fields", strings.Join(unknown[:min(len(unknown), 5)], ", "))
	}
	return fmt.Errorf("unknown field %s; the fields are %s",
		strings.Join(unknown[:min(len(unknown), 5)], ", "), strings.Join(known, ", "))
}

// objectFields returns the members of a JSON object, in order. It refuses names that differ only
// in case: Go's decoder takes them for the same field, but the hooks and rules that guard a call
// do not.
func objectFields(input json.RawMessage) ([]texts.Field, error) {
	dec := json.NewDecoder(bytes.NewReader(input))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	var fields []texts.Field
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		f := texts.Field{Name: name.(string)} // a key is always a string
		if err := dec.Decode(&f.Value); err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		folded := strings.ToLower(f.Name)
		if seen[folded] {
			return nil, fmt.Errorf("the field %q is there twice", f.Name)
		}
		seen[folded] = true
		fields = append(fields, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("it is not JSON: the object has no end")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is not JSON: something follows the object")
	}
	return fields, nil
}

// absolutePath returns input with its file_path made absolute and clean, and all other fields
// unchanged.
func absolutePath(input json.RawMessage, fields []texts.Field, cwd string) json.RawMessage {
	changed := false
	for i, f := range fields {
		var path string
		if f.Name != "file_path" || json.Unmarshal(f.Value, &path) != nil || path == "" {
			continue
		}
		whole := filepath.Clean(path)
		if !filepath.IsAbs(path) {
			whole = filepath.Join(cwd, path)
		}
		if value, err := texts.Marshal(whole); err == nil && whole != path {
			fields[i].Value, changed = value, true
		}
	}
	if !changed {
		return input
	}
	return texts.Object(fields)
}
