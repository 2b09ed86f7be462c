package term

import (
	"bytes"
	"testing"
)

// TestJSONSaysItsFormat: a document says its format, and so does each object of a list.
func TestJSONSaysItsFormat(t *testing.T) {
	type task struct {
		ID string `json:"id"`
	}
	for _, tc := range []struct {
		v    any
		want string
	}{
		{task{"<1>"}, "{\n  \"format\": 1,\n  \"id\": \"<1>\"\n}\n"},
		{struct{}{}, "{\n  \"format\": 1\n}\n"},
		{[]task{{"1"}, {"2\u202e"}}, "[\n  {\n    \"format\": 1,\n    \"id\": \"1\"\n  },\n" +
			"  {\n    \"format\": 1,\n    \"id\": \"2\\u202e\"\n  }\n]\n"},
		{[]task{}, "[]\n"},
		{[]string{"Stop"}, "[\n  \"Stop\"\n]\n"},
		{nil, "null\n"},
	} {
		var out bytes.Buffer
		if err := (&Screen{Writer: &out}).JSON(tc.v); err != nil || out.String() != tc.want {
			t.Errorf("%+v becomes %q, %v; want %q", tc.v, &out, err, tc.want)
		}
	}
	if err := (&Screen{Writer: &bytes.Buffer{}}).JSON(func() {}); err == nil {
		t.Error("a function became JSON")
	}
}
