package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// fillInput returns the arguments of an mcp_tool hook's call: its input, with each ${path}
// in a string replaced by that field of the event. wire is the event as JSON.
func fillInput(input map[string]json.RawMessage, wire []byte) (json.RawMessage, error) {
	var event any
	if err := decodeExact(wire, &event); err != nil {
		return nil, fmt.Errorf("the event cannot be read back: %w", err)
	}
	filled := make(map[string]any, len(input))
	for name, raw := range input {
		var value any
		if err := decodeExact(raw, &value); err != nil {
			return nil, fmt.Errorf("input.%s is not valid JSON: %w", texts.Preview(name, 40), err)
		}
		filled[name] = fillValue(value, event)
	}
	return texts.Marshal(filled)
}

// inputKey returns a text that is equal for equal inputs.
func inputKey(input map[string]json.RawMessage) string {
	text, err := texts.Marshal(input)
	if err != nil { // one of the values is not JSON, so the hook never runs
		return fmt.Sprint(input)
	}
	return string(text)
}

// decodeExact decodes JSON and keeps numbers as they are written.
func decodeExact(raw []byte, into *any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}

// fillValue fills in all strings of a value, at any depth, but no field names.
func fillValue(value, event any) any {
	switch v := value.(type) {
	case string:
		return fillText(v, event)
	case []any:
		for i := range v {
			v[i] = fillValue(v[i], event)
		}
	case map[string]any:
		for name := range v {
			v[name] = fillValue(v[name], event)
		}
	}
	return value
}

// fillText replaces each ${path} by that field of the event. The inserted text is not
// scanned again, because it may come from an agent.
func fillText(text string, event any) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		path, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(textAt(event, path))
		text = after
	}
}

// textAt returns the field at a dotted path: a string as it is, any other value as JSON,
// and "" if there is none. A number is an index into a list.
func textAt(value any, path string) string {
	for name := range strings.SplitSeq(strings.TrimSpace(path), ".") {
		switch v := value.(type) {
		case map[string]any:
			inner, there := v[name]
			if !there {
				return ""
			}
			value = inner
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return ""
			}
			value = v[i]
		default:
			return ""
		}
	}
	if text, ok := value.(string); ok {
		return text
	}
	raw, err := texts.Marshal(value)
	if err != nil { // what was decoded can be encoded
		return ""
	}
	return string(raw)
}
