package teammate

import (
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
)

// PrepareInput brings the input of a call into the form in which a tool may
// run it: repaired, an object without ambiguous fields, held against the
// tool's schema. It is for callers that run a tool without a Host, and does
// what a Host does before the hooks; paths are left as they are. Its error is
// for the model.
func PrepareInput(t agent.Tool, input json.RawMessage) (json.RawMessage, error) {
	spec := t.Spec()
	schema, err := resolveSchema(spec.Schema)
	if err != nil {
		return nil, fmt.Errorf("schema of tool %s: %w", spec.Name, err)
	}
	call := agent.ToolCall{Name: spec.Name, Input: input}
	if _, err := (&tool{Tool: t, spec: spec, schema: schema}).check(&call); err != nil {
		return nil, fmt.Errorf("the input of %s is not right: %w", spec.Name, err)
	}
	return call.Input, nil
}
