package agent

import "encoding/json"

// Repairer is a Tool that corrects common mistakes in its input, such as an older field's
// name. Repair is called before the input is checked against the schema.
type Repairer interface {
	Repair(input json.RawMessage) json.RawMessage
}

// Normalizer is a Tool whose input can name the same thing in several ways, such as a path
// through a symbolic link. Normalize returns the canonical form that permission rules, hooks
// and the tool get; it returns input that the tool would refuse unchanged. It is called
// before PreToolUse hooks run, and again for an input that a hook has replaced.
type Normalizer interface {
	Normalize(input json.RawMessage) json.RawMessage
}

// Locator is a Tool that knows which paths a call reaches, as written in its input;
// permissions check whether they are in the workspace. Without it the fields file_path and
// path count.
type Locator interface {
	Locations(input json.RawMessage) []string
}

// Renderer is a Tool that can make what a model sees of a result, Content and Images, from a
// response that a PostToolUse hook has replaced (updatedToolOutput). It fails if the response does
// not have the form of the tool's own; the result then stays unchanged.
type Renderer interface {
	Render(response json.RawMessage) (ToolResult, error)
}
