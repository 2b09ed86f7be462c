package agent

import "encoding/json"

// Repairer is a Tool that knows usual mistakes in its input, such as an older
// field's name. Repair comes before the input is held against the schema.
type Repairer interface {
	Repair(input json.RawMessage) json.RawMessage
}

// Normalizer is a Tool whose input can name the same thing in several ways,
// such as a path through a symbolic link. Normalize gives the one form that
// permission rules and hooks must see and the tool must get; input that the
// tool would refuse comes back as it was. It is called before PreToolUse hooks
// run, and once more on an input that a hook has replaced.
type Normalizer interface {
	Normalize(input json.RawMessage) json.RawMessage
}

// Locator is a Tool that knows which paths a call reaches, as written in its
// input; permissions ask whether they lie in the workspace. Without it the
// fields file_path and path tell.
type Locator interface {
	Locations(input json.RawMessage) []string
}

// Renderer is a Tool that can make a result's text from a response that a
// PostToolUse hook has replaced (updatedToolOutput). It fails if the response
// has not the shape of the tool's own; the result then stays as it was.
type Renderer interface {
	Render(response json.RawMessage) (content string, err error)
}
