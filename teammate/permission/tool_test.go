package permission

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// file_path is absolute before hooks and rules see it; nothing else changes.
func TestFilePath(t *testing.T) {
	cwd := t.TempDir()
	sub := filepath.Join(cwd, "sub")
	for given, want := range map[string]string{
		`{"file_path":"a&b.go"}`:                        `{"file_path":"` + sub + `/a&b.go"}`,
		`{ "z": 1e3, "file_path": "../x", "a": [1, 2]}`: `{"z":1e3,"file_path":"` + cwd + `/x","a":[1, 2]}`,
		`{ "file_path" : "/etc/hosts" }`:                `{ "file_path" : "/etc/hosts" }`,
		`{"file_path":"/etc/../x"}`:                     `{"file_path":"/x"}`,
		`{"file_path":""}`:                              `{"file_path":""}`,
		`{"file_path":3}`:                               `{"file_path":3}`,
		`{"path":"a"}`:                                  `{"path":"a"}`,
	} {
		call := agent.ToolCall{Name: "T", Input: json.RawMessage(given)}
		if err := (&Tool{}).Prepare(&call, sub); err != nil {
			t.Error(given, err)
		}
		if string(call.Input) != want {
			t.Errorf("%s became %s, not %s", given, call.Input, want)
		}
	}
}

// A model that wrote a wrong field learns the right ones.
func TestUnknownFields(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"to":{},"message":{}},"additionalProperties":false}`: `unknown field "mesage", "x"; the fields are message, to`,
		`{"type":"object","additionalProperties":false}`:                                     `unknown field "to", "mesage", "x"; it has no fields`,
		`{"type":"object","properties":{"to":{"type":"string"}}}`:                            `type: 1 has type "integer", want "string"`,
		`{"type":"object","properties":{"to":{}}}`:                                           "",
	} {
		resolved, err := resolveSchema(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		call := agent.ToolCall{Name: "T", Input: json.RawMessage(`{"to":1,"mesage":"x","x":null}`)}
		err = (&Tool{schema: resolved}).Prepare(&call, t.TempDir())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

func TestInside(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	w := workspace.NewWorkdir(root)
	sub := filepath.Join(root, "sub")
	for _, dir := range []string{sub, filepath.Join(root, ".git")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.Move(sub)
	links := map[string]string{
		"in": "sub", "out": out, "up": "../..", "dangling": filepath.Join(out,
			"new"), "loop": "loop", "chain": "dangling",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		path   string
		edits  bool
		inside bool
	}{
		{"", true, true},
		{"a.go", true, true},
		{"../a.go", true, true},
		{"../../a.go", false, false},
		{root, false, true},
		{filepath.Join(root, "not", "there", "yet"), true, true},
		{filepath.Join(root, "in", "x"), true, true},
		{filepath.Join(root, "out"), false, false},
		{filepath.Join(root, "out", "x"), true, false},
		{root + "/out/../a.go", false, false},
		{root + "/in/../a.go", false, true},
		{filepath.Join(root, "up", "x"), false, false},
		{filepath.Join(root, "dangling"), true, false},
		{filepath.Join(root, "chain"), true, false},
		{filepath.Join(root, "loop", "x"), true, false},
		{"/etc/passwd", false, false},
		{root + "x/a.go", false, false},
		{filepath.Join(root, ".git", "hooks", "pre-commit"), true, false},
		{filepath.Join(root, ".git", "HEAD"), false, true},
	}
	for _, test := range tests {
		for _, name := range []string{"file_path", "path"} {
			input, err := json.Marshal(map[string]string{name: test.path})
			if err != nil {
				t.Fatal(err)
			}
			tl := &Tool{Spec: agent.Spec{Edits: test.edits}}
			if got := tl.Inside(w, input); got != test.inside {
				t.Errorf("%s %q, edits %v: inside %v", name, test.path, test.edits, got)
			}
		}
	}
	if (&Tool{}).Inside(w, json.RawMessage(`{"path":3}`)) {
		t.Error("a path that cannot be read is inside")
	}
	w.Move(out)
	if (&Tool{}).Inside(w, json.RawMessage(`{}`)) {
		t.Error("a tool that names no path works in the current directory, which is outside")
	}
	located := &Tool{Runner: locator{}}
	for pattern, inside := range map[string]bool{"/etc/*": false, root + "/*": true} {
		if located.Inside(w, json.RawMessage(fmt.Sprintf(`{"pattern":%q}`, pattern))) != inside {
			t.Errorf("%s: inside is not %v", pattern, inside)
		}
	}
}

// locator is a tool that reaches the folder of its pattern.
type locator struct{ agent.Tool }

func (locator) Locations(input json.RawMessage) []string {
	var in struct{ Pattern string }
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	return []string{strings.TrimSuffix(in.Pattern, "*")}
}
