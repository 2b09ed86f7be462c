package inbox

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// Payload is the payload of the requests that covey makes. Fields that a kind
// does not use are empty.
type Payload struct {
	// AskPermission.
	Tool   string          `json:"tool,omitempty"`
	Call   string          `json:"call,omitempty"` // the tool call's id
	Input  json.RawMessage `json:"input,omitempty"`
	Reason string          `json:"reason,omitempty"` // also of AskShutdown
	// AskPlan: the plan, and the first session of the member's life.
	Plan    string `json:"plan,omitempty"`
	Session string `json:"session,omitempty"`
	// AskApproval.
	TaskID  string `json:"task_id,omitempty"`
	Subject string `json:"subject,omitempty"`
	Version uint64 `json:"version,omitempty"` // of the task when it was asked
	Tree    string `json:"tree,omitempty"`    // git tree hash of the files
	Folder  string `json:"folder,omitempty"`  // from which a person takes the work; empty: covey merges it
	// AskMerge: the finished work, and its commit; or the branch that was moved outside of the
	// merge queue.
	Merge  string `json:"merge,omitempty"`
	Commit string `json:"commit,omitempty"`
	Moved  string `json:"moved,omitempty"`
	// AskForm: the form, and what to answer in words.
	Schema json.RawMessage `json:"schema,omitempty"`
	Fields string          `json:"fields,omitempty"`
}

// PayloadOf decodes the payload of a request. It is empty if the payload is not
// covey's.
func PayloadOf(r requests.Request) Payload {
	var p Payload
	if len(r.Payload) == 0 || json.Unmarshal(r.Payload, &p) != nil {
		return Payload{}
	}
	return p
}

// subjectOf names the subject of a request.
func subjectOf(r requests.Request) string {
	switch p := PayloadOf(r); r.Kind {
	case requests.AskPermission:
		return cmp.Or(p.Tool, "a tool")
	case requests.AskApproval:
		return tasks.Named(p.TaskID)
	case requests.AskMerge:
		return "its merge"
	}
	return "it"
}

// Awaited names the answer to a request, such as "lead's approval of its plan".
func Awaited(r requests.Request) string {
	who := r.To + "'s"
	if r.To == actors.Operator {
		who = "a person's"
	}
	switch r.Kind {
	case requests.AskPlan:
		return who + " approval of its plan"
	case requests.AskApproval:
		return who + " approval of " + subjectOf(r)
	case requests.AskPermission:
		return who + " permission to use " + subjectOf(r)
	case requests.AskMerge:
		return who + " approval of " + subjectOf(r)
	case requests.AskQuestion:
		return who + " answer to its question"
	case requests.AskForm:
		return who + " answer to its tool's server"
	}
	return who + " answer"
}

// AnswererName returns a store's name as texts show it: the operator is "a
// person".
func AnswererName(name string) string {
	if name == actors.Operator {
		return "a person"
	}
	return name
}

// RequestText returns the full content of a request for people: the input of a
// call, or a plan. It is empty if the request's Text is complete.
func RequestText(r requests.Request) string {
	switch p := PayloadOf(r); r.Kind {
	case requests.AskPermission:
		return indented(p.Input)
	case requests.AskPlan:
		return p.Plan
	case requests.AskForm:
		return formText(p)
	}
	return ""
}

// ForPerson reports whether a person has to answer a request.
func ForPerson(r requests.Request) bool { return r.To == actors.Operator }

// indented returns JSON indented and without HTML escapes, or "" if it is not
// JSON.
func indented(input json.RawMessage) string {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return ""
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}
