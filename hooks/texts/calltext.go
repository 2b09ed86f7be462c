package texts

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// MainInput returns the most informative input of a tool call, for people. For known
// tools it is one field; for others it is all fields, in a stable order.
func MainInput(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return string(input)
	}
	for _, key := range []string{"command", "file_path", "pattern", "path", "url", "query"} {
		if text := TextOf(fields[key]); text != "" {
			return text
		}
	}
	var parts []string
	for key, raw := range fields {
		parts = append(parts, fmt.Sprintf("%s=%s", key, TextOf(raw)))
	}
	sort.Strings(parts)
	return strings.Join(parts, " ")
}

// TextOf returns the text of a JSON string, or the JSON of any other value. A missing
// field is empty.
func TextOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
