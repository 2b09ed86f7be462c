package teammate

import "encoding/json"

// Normalizer is a Tool whose input can name the same thing in several ways,
// such as a path through a symbolic link. Normalize gives the one form that
// permission rules and hooks must see and the tool must get; input that the
// tool would refuse comes back as it was. It is called before PreToolUse hooks
// run, and once more on an input that a hook has replaced.
type Normalizer interface {
	Normalize(input json.RawMessage) json.RawMessage
}
