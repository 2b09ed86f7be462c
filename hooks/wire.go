package hooks

import (
	"bytes"

	"github.com/coveyteam/covey/hooks/texts"
)

// MarshalJSON returns the input as hooks read it: the common fields in wire order,
// hook_event_name, then the payload's own fields.
//
// json.Marshal escapes <, > and & in it; Wire returns the exact bytes.
func (in Input) MarshalJSON() ([]byte, error) {
	wire, err := in.Wire()
	return bytes.TrimSuffix(wire, []byte("\n")), err
}

// Wire returns the bytes that a hook reads on stdin: one JSON object and a newline, without
// HTML escapes. Bytes that are not valid UTF-8 are replaced by U+FFFD. It fails only if the
// payload cannot be marshalled.
func (in Input) Wire() ([]byte, error) {
	info := InfoOf(in.Payload.Event())
	fields := []texts.Field{texts.TextField("session_id", in.SessionID),
		texts.TextField("transcript_path", in.TranscriptPath), texts.TextField("cwd", in.Cwd)}
	optional := func(name, value string) {
		if value != "" {
			fields = append(fields, texts.TextField(name, value))
		}
	}
	optional("prompt_id", in.PromptID)
	if info.Mode {
		optional("permission_mode", in.PermissionMode)
	}
	optional("agent_id", in.AgentID)
	optional("agent_type", in.AgentType)
	if in.Effort != nil && info.Mode {
		effort, _ := texts.Marshal(in.Effort) // a struct of one string always marshals
		fields = append(fields, texts.Field{Name: "effort", Value: effort})
	}
	fields = append(fields, texts.TextField("hook_event_name", string(info.Event)))
	payload, err := texts.Marshal(in.Payload)
	if err != nil {
		return nil, err
	}
	if texts.Kind(payload) != "object" {
		return nil, texts.ErrNotObject
	}
	wire := texts.Object(fields)
	if string(payload) != "{}" { // append its fields to the common ones
		wire = append(append(wire[:len(wire)-1], ','), payload[1:]...)
	}
	return append(wire, '\n'), nil
}
