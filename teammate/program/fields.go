package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// IsNull reports whether raw is a JSON null, which programs send for absent values.
func IsNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// Lenient decodes raw into a field, and leaves it unchanged on an error, so that one
// unexpected field does not affect the rest.
func Lenient(raw json.RawMessage, field any) {
	if len(raw) > 0 && !IsNull(raw) {
		_ = json.Unmarshal(raw, field) // errors are ignored on purpose
	}
}

// Fields returns the members of an object, or nil for another value.
func Fields(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	Lenient(raw, &fields)
	return fields
}

// Object returns raw if it is an object, and otherwise an object that holds it.
func Object(raw json.RawMessage) json.RawMessage {
	raw = bytes.ToValidUTF8(bytes.TrimSpace(raw), []byte("\uFFFD")) // the JSON decoder accepts invalid UTF-8
	switch {
	case len(raw) == 0, IsNull(raw):
		return json.RawMessage(`{}`)
	case raw[0] == '{' && json.Valid(raw):
		return raw
	}
	return texts.Encode(map[string]json.RawMessage{"input": raw})
}

// Shorten returns the beginning of a text that has more bytes than limit.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}

// MaxResult limits a tool's result in the transcript, in bytes: only hooks and people read it.
const MaxResult = 100_000

// Result returns a tool's result as the transcript has it: without its middle if it is too long.
func Result(text string) string {
	if len(text) > MaxResult {
		half := MaxResult / 2
		text = fmt.Sprintf("%s\n\n... [%d bytes left out] ...\n\n%s", text[:half], len(text)-2*half, text[len(text)-half:])
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
