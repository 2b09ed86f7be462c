package inbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks/requests"
)

// Field is a value that a form asks for, for who draws the form.
type Field struct {
	Name     string
	Title    string // for people
	About    string
	Type     string // string, number, integer or boolean
	Format   string // of a string, such as email; empty: any
	Choices  []Choice
	Default  string
	Required bool
	Min, Max string // of a number; empty: none
}

// Choice is one of the values that a Field can have.
type Choice struct{ Value, Title string }

// FieldsOf returns the values that a form asks for, in the order of its schema. Other requests have none.
func FieldsOf(r requests.Request) []Field {
	schema := PayloadOf(r).Schema
	wanted, err := parseFields(schema)
	if r.Kind != requests.AskForm || err != nil {
		return nil
	}
	var list []Field
	for _, name := range namesIn(schema) {
		f := wanted[name]
		one := Field{
			Name: name, Title: cmp.Or(f.Title, name), About: f.Description, Type: f.Type, Format: f.Format, Required: f.required,
			Min: bound(f.Minimum), Max: bound(f.Maximum),
		}
		if json.Unmarshal(f.Default, &one.Default) != nil { // it is no string
			one.Default = string(f.Default)
		}
		for i, value := range f.Choices {
			title := value
			if i < len(f.Names) {
				title = cmp.Or(f.Names[i], value)
			}
			one.Choices = append(one.Choices, Choice{value, title})
		}
		list = append(list, one)
	}
	return list
}

// bound returns a bound of a number as text.
func bound(n *float64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// namesIn returns the names of the properties of a schema in its order. Of two with the same name, the
// first one counts.
func namesIn(schema json.RawMessage) (names []string) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(s.Properties))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break
		}
		if text, ok := name.(string); ok && !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	return names
}

// FillOut makes the text of a yes of what was given for the values of a form, by their names. What is wrong
// with a value is in faults, by its name; then there is no text.
func FillOut(r requests.Request, given map[string]string) (text string, faults map[string]string) {
	wanted, err := parseFields(PayloadOf(r).Schema)
	if err != nil { // such a form is not asked
		return "", map[string]string{"": err.Error()}
	}
	content := map[string]any{}
	faults = map[string]string{}
	for name, f := range wanted {
		value := strings.TrimSpace(given[name])
		switch {
		case f.Type == "boolean":
			value = cmp.Or(value, "false") // a box that is not checked
		case value == "" && f.required:
			faults[name] = "it is missing"
			continue
		case value == "":
			continue
		}
		if content[name], err = f.value(value); err != nil {
			faults[name] = err.Error()
		}
	}
	if len(faults) > 0 {
		return "", faults
	}
	return strings.TrimSpace(string(texts.Encode(content))), nil
}
