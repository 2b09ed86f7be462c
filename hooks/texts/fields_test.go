package texts

import (
	"errors"
	"testing"
)

// TestFields: the order and the bytes of values stay; of two fields the last counts.
func TestFields(t *testing.T) {
	fields, err := Fields([]byte(` {"b": 1.0, "a": {"x": "<"}, "b":"&"} `))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(Object(fields)), `{"b":"&","a":{"x": "<"}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	fields = Put(Put(fields, TextField("a", "<")), TextField("c", "new"))
	if got, want := string(Object(fields)), `{"b":"&","a":"<","c":"new"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if Text(Get(fields, "c")) != "new" || Get(fields, "d") != nil || Text(Get(fields, "d")) != "" {
		t.Error("Get and Text")
	}
}

func TestNotObject(t *testing.T) {
	for text, why := range map[string]string{
		"": `it begins with ""`, "[]": `it begins with "[]"`, `{"a":`: "it ends in the middle",
		`{"a":1} x`: "there is more after the object",
	} {
		_, err := Fields([]byte(text))
		if !errors.Is(err, ErrNotObject) || Reason(err) != why {
			t.Errorf("%q: %v, want %s", text, err, why)
		}
	}
}

func TestKind(t *testing.T) {
	for raw, want := range map[string]string{
		"": "undefined", `"x"`: "string", "{}": "object", "[]": "array", "true": "boolean", "null": "null", "-1": "number",
	} {
		if got := Kind([]byte(raw)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
