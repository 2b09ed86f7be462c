package settings

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs/yaml"
)

// TestSplitHead splits files at the end of the head, and returns others unchanged.
func TestSplitHead(t *testing.T) {
	for _, test := range []struct{ file, head, body string }{
		{"", "", ""},
		{"text", "", "text"},
		{"---\na: b\n---\nbody\n", "a: b", "body\n"},
		{"---\na: b\nc: d\n---\n", "a: b\nc: d", ""},
		{"---\na: b\n---", "a: b", ""},
		{"---\n---\nbody", "", "body"},
		{"---\na: b\n---\n---\nbody", "a: b", "---\nbody"},
		{"\n---\na: b\n---\n", "", "\n---\na: b\n---\n"},
		{" ---\na: b\n---\n", "", " ---\na: b\n---\n"},
		{"----\na: b\n---\n", "", "----\na: b\n---\n"},
		{"---\na: b\n----\n", "", "---\na: b\n----\n"},
		{"---", "", "---"},
		{"---\n", "", "---\n"},
	} {
		head, body := SplitHead(test.file)
		if head != test.head || body != test.body {
			t.Errorf("%q is %q and %q, want %q and %q", test.file, head, body, test.head, test.body)
		}
	}
}

// TestReadHead reads the heads of other programs' agent files.
func TestReadHead(t *testing.T) {
	for _, test := range []struct {
		head, description string
		tools             []string
		ok                bool
	}{
		{"description: Reviews code", "Reviews code", nil, true},
		{"description: >-\n  Reviews\n  code", "Reviews code", nil, true},
		{"description: |\n  Reviews code\n", "Reviews code", nil, true},
		{"description: [a]", "", nil, true},
		{"tools: Read, Grep,Glob", "", []string{"Read", "Grep", "Glob"}, true},
		{"tools: [Read, Grep]", "", []string{"Read", "Grep"}, true},
		{"tools:\n- Read\n- Bash", "", []string{"Read", "Bash"}, true},
		{"tools: []", "", nil, true},
		{"tools:", "", nil, true},
		{"tools: \"*\"", "", nil, true},
		{"hooks: {Stop: []}\nmodel: opus\ncolor: red", "", nil, true},
		{"", "", nil, false},
		{"a", "", nil, false},
		{"- a", "", nil, false},
		{"description: a: b", "", nil, false},
		{"description: *a", "", nil, false},
		{"description: a\x00", "", nil, false},
		{"description: \"a", "", nil, false},
		{strings.Repeat("[", 5000), "", nil, false},
		{strings.Repeat("k: v\n", yaml.MaxSize/4), "", nil, false},
	} {
		root, ok := yaml.ParseHead(test.head)
		description, tools := "", []string(nil)
		if ok {
			description, tools = root.TextOf("description"), HeadTools(root.Lookup("tools"))
		}
		if description != test.description || !reflect.DeepEqual(tools, test.tools) || ok != test.ok {
			t.Errorf("%.40q is %q, %q, %t; want %q, %q, %t", test.head, description, tools, ok,
				test.description, test.tools, test.ok)
		}
	}
}
