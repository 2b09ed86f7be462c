package hooks

import (
	"bytes"
	"encoding/json"

	"github.com/coveyteam/covey/hooks/rawjson"
)

// MarshalJSON gives the input as hooks read it: the common fields in wire
// order, hook_event_name, then the payload's own fields.
//
// What json.Marshal makes of it escapes <, > and &; Wire gives the exact bytes.
func (in Input) MarshalJSON() ([]byte, error) {
	wire, err := in.Wire()
	return bytes.TrimSuffix(wire, []byte("\n")), err
}

// Wire returns the bytes that a hook finds on its stdin: one JSON object and a
// newline, without HTML escapes. Text that is not valid UTF-8 has U+FFFD in
// place of the broken bytes. It fails only if the payload cannot be marshalled.
func (in Input) Wire() ([]byte, error) {
	known := InfoOf(in.Payload.Event())
	var buf bytes.Buffer
	w := objectWriter{buf: &buf}
	w.text("session_id", in.SessionID)
	w.text("transcript_path", in.TranscriptPath)
	w.text("cwd", in.Cwd)
	w.optional("prompt_id", in.PromptID)
	if known.Mode {
		w.optional("permission_mode", in.PermissionMode)
	}
	w.optional("agent_id", in.AgentID)
	w.optional("agent_type", in.AgentType)
	if in.Effort != nil && known.Mode {
		w.text("effort", in.Effort)
	}
	w.text("hook_event_name", known.Event)
	w.text("", in.Payload)
	return buf.Bytes(), w.err
}

// objectWriter writes one flat JSON object field by field, so that the order
// is the wire's and not a Go struct's.
type objectWriter struct {
	buf *bytes.Buffer
	err error
}

// optional writes a field unless its text is empty.
func (w *objectWriter) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

// text writes a field. With an empty name value is the payload, whose fields
// are taken over and end the object.
func (w *objectWriter) text(name string, value any) {
	if w.err != nil {
		return
	}
	lead := byte(',')
	if w.buf.Len() == 0 {
		lead = '{'
	}
	w.buf.WriteByte(lead)
	if name != "" {
		w.buf.WriteByte('"')
		w.buf.WriteString(name)
		w.buf.WriteString(`":`)
	}
	start := w.buf.Len()
	enc := json.NewEncoder(w.buf)
	enc.SetEscapeHTML(false)
	if w.err = enc.Encode(value); w.err != nil {
		return
	}
	if name != "" {
		w.buf.Truncate(w.buf.Len() - 1) // Encode ends with a newline
		return
	}
	w.splice(start)
}

// splice turns the payload object that begins at start into more fields of the
// object around it.
func (w *objectWriter) splice(start int) {
	payload := w.buf.Bytes()[start:]
	if len(payload) < 3 || payload[0] != '{' {
		w.err = rawjson.ErrNotObject
		return
	}
	if payload[1] == '}' {
		w.buf.Truncate(start - 1)
		w.buf.WriteString("}\n")
		return
	}
	copy(payload, payload[1:])
	w.buf.Truncate(w.buf.Len() - 1)
}
