// Package texts encodes and decodes values and texts: JSON objects field by field,
// which preserves the order of fields and the bytes of their values, and short texts for
// messages. It makes no promise of compatibility to programs outside covey.
//
// Hooks of other programs read what covey writes, and some compare texts. A map would
// sort the fields, and a struct would lose unknown ones.
package texts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrNotObject is returned by Fields for a text that is not one JSON object.
var ErrNotObject = errors.New("not one JSON object")

// Field is one field of a JSON object.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Fields splits one JSON object into its fields, in order. Of two fields with
// one name the last counts, as in JavaScript. The error wraps ErrNotObject.
func Fields(raw []byte) ([]Field, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("%w: it begins with %q", ErrNotObject, Preview(string(raw), 40))
	}
	var fields []Field
	at := map[string]int{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotObject, err)
		}
		f := Field{Name: name.(string)} // the decoder accepts only strings as keys
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

// Map returns the values of an object's fields by name. The error is that of Fields.
func Map(raw []byte) (map[string]json.RawMessage, error) {
	fields, err := Fields(raw)
	if err != nil {
		return nil, err
	}
	values := make(map[string]json.RawMessage, len(fields))
	for _, f := range fields {
		values[f.Name] = f.Value
	}
	return values, nil
}

// Object returns the JSON object that has these fields.
func Object(fields []Field) json.RawMessage {
	buf := bytes.NewBufferString("{")
	for i, f := range fields {
		if i > 0 {
			buf.WriteByte(',')
		}
		name, _ := Marshal(f.Name) // strings always marshal
		buf.Write(name)
		buf.WriteByte(':')
		buf.Write(f.Value)
	}
	buf.WriteByte('}')
	return buf.Bytes()
}

// Get returns the value of the field of that name, or nil.
func Get(fields []Field, name string) json.RawMessage {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Put returns the fields with f in the place of the one of its name, or at the end.
func Put(fields []Field, f Field) []Field {
	fields = slices.Clone(fields)
	if i := slices.IndexFunc(fields, func(g Field) bool { return g.Name == f.Name }); i >= 0 {
		fields[i] = f
		return fields
	}
	return append(fields, f)
}

// TextField returns a field whose value is a string.
func TextField(name, text string) Field {
	value, _ := Marshal(text) // strings always marshal
	return Field{name, value}
}

// Text returns the string in a JSON value, or "" if it holds none.
func Text(value json.RawMessage) string {
	var s string
	if len(value) == 0 || json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// Kind names the type of a JSON value as JavaScript programmers do.
func Kind(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "undefined"
	}
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// Marshal is json.Marshal without HTML escapes.
func Marshal(value any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// Reason returns why Fields rejected a text, without repeating that it is not an object.
func Reason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends in the middle"
	}
	return strings.TrimPrefix(err.Error(), ErrNotObject.Error()+": ")
}

// Hidden reports whether text ends with a JSON object after other output.
func Hidden(text string) bool {
	i := strings.LastIndex(text, "\n{")
	return i >= 0 && strings.HasSuffix(text, "}") && json.Valid([]byte(text[i+1:]))
}

// Wanted describes the JSON that fits a Go value, for people.
func Wanted(target any) string {
	switch target.(type) {
	case *string:
		return "a string"
	case *bool:
		return "true or false"
	case *float64:
		return "a number"
	case *[]string:
		return "a list of strings"
	case *[]json.RawMessage:
		return "a list"
	}
	return "an object"
}

// Encode is Marshal for covey's own values, which always have a JSON form.
func Encode(value any) json.RawMessage {
	raw, err := Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// SameJSON reports whether two values are equal apart from white space.
func SameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
