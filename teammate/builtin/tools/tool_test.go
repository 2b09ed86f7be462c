//go:build unix

package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/teammate/agent"
)

func TestSpecs(t *testing.T) {
	b := newBench(t, nil)
	var names []string
	for _, tool := range b.tools.List() {
		spec := tool.Spec()
		mark := ""
		if spec.ReadOnly {
			mark += "r"
		}
		if spec.Edits {
			mark += "e"
		}
		if spec.Team {
			mark += "t"
		}
		names = append(names, spec.Name+":"+mark)
		var schema jsonschema.Schema
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatalf("%s: %v", spec.Name, err)
		}
		if _, err := schema.Resolve(nil); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
		if schema.Type != "object" || len(schema.Properties) == 0 || len(schema.Required) == 0 ||
			spec.Description == "" {
			t.Errorf("%s: schema %s", spec.Name, spec.Schema)
		}
		for field, p := range schema.Properties {
			if p.Description == "" || p.Type == "" {
				t.Errorf("%s: field %s has no description or type", spec.Name, field)
			}
		}
	}
	want := "Bash: BashOutput:r KillShell: Read:r Write:e Edit:e Glob:r Grep:r WebFetch:r"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheSchemaOfBash(t *testing.T) {
	got := string(newBench(t, nil).byTag["Bash"].Spec().Schema)
	for _, want := range []string{
		`"required":["command"]`, `"additionalProperties":false`, `"timeout":{"type":"integer"`,
		`"maximum":600000`,
		`"run_in_background":{"type":"boolean"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

func TestInputsThatAreNoObject(t *testing.T) {
	b := newBench(t, nil)
	for _, input := range []string{"", "null", "5", `"x"`, "[]", "{", `{"command":"x"`, "\xff"} {
		for _, tool := range b.tools.List() {
			r := tool.Run(t.Context(), agent.ToolCall{Input: json.RawMessage(input)})
			if !r.IsError || !strings.Contains(r.Content, "not a JSON object; it has the fields ") {
				t.Errorf("%s with %q: %q", tool.Spec().Name, input, r.Content)
			}
		}
	}
}

func TestUnknownFieldsAreListed(t *testing.T) {
	b := newBench(t, nil)
	in := fields{"pattern": "x"}
	for _, c := range "zyxwvut" {
		in[strings.Repeat(string(c), 100)] = 1
	}
	got := b.fails("Glob", in)
	if !strings.Contains(got, "unknown field") ||
		!strings.HasSuffix(got, "; the fields are pattern, path") || len(got) > 500 {
		t.Errorf("got %q", got)
	}
}

// A response that a hook has replaced is rendered like the tool's own.
func TestRender(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "a\nb\n")
	for name, in := range map[string]fields{
		"Bash":  {"command": "echo out; echo err >&2"},
		"Read":  {"file_path": "f", "limit": 1},
		"Glob":  {"pattern": "*"},
		"Write": {"file_path": "new", "content": "x"},
		"Edit":  {"file_path": "f", "old_string": "a", "new_string": "c"},
	} {
		if name == "Edit" {
			b.ok("Read", fields{"file_path": "f"})
		}
		r := b.call(t.Context(), name, in)
		got, err := b.byTag[name].(agent.Renderer).Render(r.Response)
		if err != nil || got.Content != r.Content {
			t.Errorf("%s: %+v, %v; the result was %q", name, got, err, r.Content)
		}
	}
	bash := b.byTag["Bash"].(agent.Renderer)
	got, err := bash.Render(json.RawMessage(`{"interrupted": false, "isImage": false, "stderr": "", "stdout": "CHANGED"}`))
	if err != nil || got.Content != "CHANGED" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, response := range []string{`"text"`, `{"other":1}`, `[]`, ``} {
		if got, err := bash.Render(json.RawMessage(response)); err == nil {
			t.Errorf("%s gave %+v", response, got)
		}
	}
	if _, err := b.byTag["Grep"].(agent.Renderer).Render(json.RawMessage(`{}`)); err == nil {
		t.Error("Grep's text was made from its response")
	}
}

func TestLocations(t *testing.T) {
	b := newBench(t, nil)
	for _, test := range []struct {
		tool, input string
		want        []string
	}{
		{"Read", `{"file_path":"/etc/hostname"}`, []string{"/etc/hostname"}},
		{"Grep", `{"pattern":"x","path":"sub"}`, []string{"sub"}},
		{"Grep", `{"pattern":"x"}`, nil},
		{"Bash", `{"command":"cat /etc/hostname"}`, nil},
		{"Read", `{"path":"/etc/hostname"}`, nil},
	} {
		got := b.byTag[test.tool].(agent.Locator).Locations(json.RawMessage(test.input))
		if strings.Join(got, " ") != strings.Join(test.want, " ") {
			t.Errorf("%s %s reaches %v", test.tool, test.input, got)
		}
	}
}
