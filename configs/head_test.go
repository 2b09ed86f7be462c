package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestSplitHead parts files where a head ends, and leaves alone what has none.
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
		head, body := splitHead(test.file)
		if head != test.head || body != test.body {
			t.Errorf("%q is %q and %q, want %q and %q", test.file, head, body, test.head, test.body)
		}
	}
}

// TestReadHead reads what agent files of other programs hold.
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
		{strings.Repeat("k: v\n", MaxSize/4), "", nil, false},
	} {
		root, ok := parseHead(test.head)
		description, tools := "", []string(nil)
		if ok {
			description, tools = readHead(root)
		}
		if description != test.description || !reflect.DeepEqual(tools, test.tools) || ok != test.ok {
			t.Errorf("%.40q is %q, %q, %t; want %q, %q, %t", test.head, description, tools, ok,
				test.description, test.tools, test.ok)
		}
	}
}

// TestMakeTest finds the target of a Makefile and takes nothing else for it.
func TestMakeTest(t *testing.T) {
	for file, want := range map[string]string{
		"test:\n\tgo test\n":             "make test",
		"all: x\n\ntest: all lint\n":     "make test",
		"test :\n":                       "make test",
		"test:":                          "make test",
		"test:: a\n":                     "make test",
		".PHONY: test\n":                 "",
		"test = x\n":                     "",
		"test := x\n":                    "",
		"test:= x\n":                     "",
		"tests:\n":                       "",
		"\ttest:\n":                      "",
		"unit-test:\n":                   "",
		"# test:\n":                      "",
		"":                               "",
		"check:\n\techo test: nothing\n": "",
	} {
		if got := makeTest("", []byte(file)); got != want {
			t.Errorf("%q gives %q, want %q", file, got, want)
		}
	}
}

// TestHasGoFile looks where `./...` looks.
func TestHasGoFile(t *testing.T) {
	for path, want := range map[string]bool{
		"a.go": true, "a_test.go": true, "x/y/z/a.go": true, "a.go.txt": false, "a.GO": false,
		"_a.go": false, ".a.go": false, "_x/a.go": false, ".x/a.go": false, "testdata/a.go": false,
		"vendor/a.go": false, "x/testdata/a.go": false, "x/vendors/a.go": true, "a.go/x": false,
	} {
		dir := write(t, map[string]string{"go.mod": "module x\n", path: ""})
		if got := hasGoFile(dir); got != want {
			t.Errorf("with %s: %t, want %t", path, got, want)
		}
	}
	if hasGoFile(filepath.Join(t.TempDir(), "none")) {
		t.Error("a folder that is not there has a Go file")
	}
}

// TestHasGoFileUnreadable: a folder that nobody may enter is no reason to stop.
func TestHasGoFileUnreadable(t *testing.T) {
	dir := write(t, map[string]string{"a/x.txt": "", "b/x.go": ""})
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "a"), 0o755) })
	if !hasGoFile(dir) {
		t.Error("the Go file behind the closed folder is not found")
	}
}
