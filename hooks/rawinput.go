package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// RawPayload is a payload that was read from outside. It keeps all fields, also
// those that covey does not know, in their order.
type RawPayload struct {
	Name   Event
	Fields []Field
}

// Field is one field of a JSON object.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Event names the moment.
func (p RawPayload) Event() Event { return p.Name }

// MarshalJSON gives the fields as they were read.
func (p RawPayload) MarshalJSON() ([]byte, error) {
	buf := bytes.NewBufferString("{")
	for i, f := range p.Fields {
		if i > 0 {
			buf.WriteByte(',')
		}
		name, err := marshal(f.Name)
		if err != nil {
			return nil, err
		}
		buf.Write(name)
		buf.WriteByte(':')
		buf.Write(f.Value)
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// field returns the value of a field, or nil.
func (p RawPayload) field(name string) json.RawMessage {
	for _, f := range p.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// ParseInput reads the hook input of any event, known or not: raw is one JSON
// object. Common fields that it lacks are taken from defaults. The error names
// the field that is wrong; it is ErrNotObject if raw is something else.
func ParseInput(event Event, raw []byte, defaults Common) (Input, error) {
	fields, err := objectFields(raw)
	if err != nil {
		return Input{}, err
	}
	in := Input{Common: defaults}
	payload := RawPayload{Name: event}
	for _, f := range fields {
		target := in.commonField(f.Name)
		switch {
		case f.Name == "hook_event_name":
			var name Event
			if json.Unmarshal(f.Value, &name) != nil || name != event {
				return Input{}, fmt.Errorf("hook_event_name is %s, but %s is to be fired: make it fit, or leave it out",
					preview(string(f.Value), 40), event)
			}
		case target == nil:
			payload.Fields = append(payload.Fields, f)
		case json.Unmarshal(f.Value, target) != nil:
			return Input{}, fmt.Errorf("%s is %s: want %s", f.Name, preview(string(f.Value), 40),
				kindWanted(target))
		}
	}
	in.Payload = payload
	return in, nil
}

// commonField returns where the common field of that name is kept, or nil.
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

// kindWanted names the JSON type that fits target.
func kindWanted(target any) string {
	if _, ok := target.(*string); ok {
		return "a string"
	}
	return `an object like {"level":"high"}`
}

// objectFields splits one JSON object into its fields, in order. Of two fields
// with one name the last counts, as in JavaScript.
func objectFields(raw []byte) ([]Field, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("%w: it begins with %q", ErrNotObject, preview(string(raw), 40))
	}
	var fields []Field
	at := map[string]int{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotObject, err)
		}
		f := Field{Name: name.(string)} // More and the decoder vouch for it: a key is a string
		if err := dec.Decode(&f.Value); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotObject, err)
		}
		if i, twice := at[f.Name]; twice {
			fields[i] = f
			continue
		}
		at[f.Name] = len(fields)
		fields = append(fields, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotObject, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: there is more after the object", ErrNotObject)
	}
	return fields, nil
}
