package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// Tool is a tool with its spec and its schema, resolved once.
type Tool struct {
	Spec   agent.Spec
	Runner agent.Tool           // runs its calls; nil: an agent program does
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

// Index reads the specs of a member's tools and indexes them by name.
func Index(list []agent.Tool) (map[string]*Tool, error) {
	if len(list) == 0 {
		return nil, nil
	}
	tools := make(map[string]*Tool, len(list))
	for _, runner := range list {
		t, err := NewTool(runner)
		if err != nil {
			return nil, err
		}
		if t.Spec.Name == "" || tools[t.Spec.Name] != nil {
			return nil, fmt.Errorf("tool name %q is empty or there twice", t.Spec.Name)
		}
		tools[t.Spec.Name] = t
	}
	return tools, nil
}

// resolved has the schemas that resolveSchema has read, by their text. All
// members of a team have the same tools: one copy serves them all, or an idle
// member would cost ten times as much.
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

// Prepare brings a call's input into the form in which hooks, rules and the
// tool see it: repaired, held against the schema, its paths absolute. It is
// the same JSON for all of them, or a call could mean one thing to a rule and
// another to the tool.
func (t *Tool) Prepare(call *agent.ToolCall, cwd string) error {
	fields, err := t.check(call)
	if err != nil {
		return err
	}
	if n, ok := t.Runner.(agent.Normalizer); ok {
		call.Input = n.Normalize(call.Input)
		return nil
	}
	call.Input = absolute(call.Input, fields, cwd)
	return nil
}

// PrepareInput brings the input of a call into the form in which a tool may
// run it: repaired, an object without ambiguous fields, held against the
// tool's schema. It is for callers that run a tool without a Host, and does
// what a Host does before the hooks; paths are left as they are. Its error is
// for the model.
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

// Invalid tells the model that the input of a call is not right.
func Invalid(name string, err error) string {
	return fmt.Sprintf("<tool_use_error>InputValidationError: the input of %s is not right: %v</tool_use_error>",
		name, err)
}

// check repairs a call's input and holds it against the schema.
func (t *Tool) check(call *agent.ToolCall) ([]notation.Field, error) {
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
	return fields, t.schema.Validate(value)
}

// objectFields are the members of a JSON object, in order. Names that differ
// in case alone are refused: Go's decoder takes them for the same field, the
// hooks and rules that guard a call do not.
func objectFields(input json.RawMessage) ([]notation.Field, error) {
	dec := json.NewDecoder(bytes.NewReader(input))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	var fields []notation.Field
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		f := notation.Field{Name: name.(string)} // a key can be nothing else
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

// absolute is input with its file_path made absolute and clean, every other
// field as it was.
func absolute(input json.RawMessage, fields []notation.Field, cwd string) json.RawMessage {
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
		if value, err := notation.Marshal(whole); err == nil && whole != path {
			fields[i].Value, changed = value, true
		}
	}
	if !changed {
		return input
	}
	return notation.Object(fields)
}
