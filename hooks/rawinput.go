package hooks

import (
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
)

// RawPayload is a payload that was read as JSON. It keeps all fields in their order, also
// those that covey does not know.
type RawPayload struct {
	Name   Event
	Fields []texts.Field
}

// Event returns the event's name.
func (p RawPayload) Event() Event { return p.Name }

// MarshalJSON writes the fields as they were read.
func (p RawPayload) MarshalJSON() ([]byte, error) { return texts.Object(p.Fields), nil }

// field returns the value of a field, or nil.
func (p RawPayload) field(name string) json.RawMessage { return texts.Get(p.Fields, name) }

// ParseInput reads the hook input of any event, known or not: raw is one JSON object.
// Common fields that it lacks come from defaults. The error names the invalid field; it
// wraps texts.ErrNotObject if raw is not an object.
func ParseInput(event Event, raw []byte, defaults Common) (Input, error) {
	fields, err := texts.Fields(raw)
	if err != nil {
		return Input{}, fmt.Errorf("hook input is %w", err)
	}
	in := Input{Common: defaults}
	payload := RawPayload{Name: event}
	for _, f := range fields {
		target := in.commonField(f.Name)
		switch {
		case f.Name == "hook_event_name":
			var name Event
			if json.Unmarshal(f.Value, &name) != nil || name != event {
				return Input{}, fmt.Errorf("hook_event_name is %s, but the event is %s: correct it, or leave it out",
					texts.Preview(string(f.Value), 40), event)
			}
		case target == nil:
			payload.Fields = append(payload.Fields, f)
		case json.Unmarshal(f.Value, target) != nil:
			return Input{}, fmt.Errorf("%s is %s: want %s", f.Name, texts.Preview(string(f.Value), 40),
				kindWanted(target))
		}
	}
	in.Payload = payload
	return in, nil
}

// commonField returns the address of the common field of that name, or nil.
func (in *Input) commonField(name string) any {
	switch name {
	case "session_id":
		return &in.SessionID
	case "transcript_path":
		return &in.TranscriptPath
	case "cwd":
		return &in.Cwd
	case "prompt_id":
		return &in.PromptID
	case "permission_mode":
		return &in.PermissionMode
	case "agent_id":
		return &in.AgentID
	case "agent_type":
		return &in.AgentType
	case "effort":
		return &in.Effort
	}
	return nil
}

// kindWanted returns the JSON type of target.
func kindWanted(target any) string {
	if _, ok := target.(*string); ok {
		return "a string"
	}
	return `an object like {"level":"high"}`
}
