package permission

import (
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// Refusal describes why a member may not write to a file. The zero value allows the write.
type Refusal struct {
	Text string // for the model
	Rule string // the key of the spec that forbids it
	// Ask means that a person can allow the call, and is asked whatever else allows it.
	Ask bool
	// Outside means that the file is outside of the member's working copy. A person can allow
	// the call, or a rule that names its path; what allows all calls does not.
	Outside bool
}

// Writable returns what forbids a member to write to a file. path is absolute, after links are
// resolved. A nil Writable allows every file.
type Writable func(path string) Refusal

// Refusal returns what forbids a call to write its files: the first refusal that nobody can
// override, or else the first.
func (w Writable) Refusal(t *Tool, call agent.ToolCall, dir string) Refusal {
	var first Refusal
	if w == nil || !t.Spec.Edits {
		return first
	}
	for _, place := range t.places(call.Input, dir) {
		r := w(place)
		switch {
		case r.Text == "":
		case !r.Ask && !r.Outside:
			return r
		case first.Text == "":
			first = r
		}
	}
	return first
}

// Holds reports whether the refusal of a call stands although the call is allowed. by says who
// allowed it, and inside that all its files are in the workspace or in an added folder.
func (r Refusal) Holds(by Ruling, person, inside bool) bool {
	if r.Text == "" || r.Ask {
		return false
	}
	named := by.By == "rule" && strings.Contains(by.Rule, "(")
	return !r.Outside || !person && !named && !inside
}
