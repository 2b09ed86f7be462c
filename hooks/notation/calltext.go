package notation

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// MainInput is the input that tells most about a tool call, for people. For the tools that
// people know it is one field; for any other it is all of them, in an order
// that stays the same.
func MainInput(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return string(input)
	}
	for _, key := range []string{"command", "file_path", "pattern", "path", "url", "query"} {
		if text := textOf(fields[key]); text != "" {
			return text
		}
	}
	var parts []string
	for key, raw := range fields {
		parts = append(parts, fmt.Sprintf("%s=%s", key, textOf(raw)))
	}
	sort.Strings(parts)
	return strings.Join(parts, " ")
}

// textOf is a JSON string's text, or any other value's JSON. A field that is
// missing is empty.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
