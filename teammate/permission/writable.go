package permission

import "github.com/coveyteam/covey/teammate/agent"

// Writable returns why a member may not write to a file, for the model, and whether a person can
// allow it; an empty refusal allows the write. path is absolute, after links are resolved. A nil
// Writable allows every file.
type Writable func(path string) (refusal string, ask bool)

// Refusal returns what forbids a call to write its files: the first refusal that nobody can
// override, or else the first.
func (w Writable) Refusal(t *Tool, call agent.ToolCall, dir string) (refusal string, ask bool) {
	if w == nil || !t.Spec.Edits {
		return "", false
	}
	for _, place := range t.places(call.Input, dir) {
		text, may := w(place)
		switch {
		case text == "":
		case !may:
			return text, false
		case refusal == "":
			refusal, ask = text, true
		}
	}
	return refusal, ask
}
