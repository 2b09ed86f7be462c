package main_test

import (
	"flag"
	"fmt"
	"go/doc"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateParts = flag.Bool("update", false, "write the list of parts in docs/architecture.md anew")

// TestArchitectureHasTheParts: the list of parts is made from the list of arrows and the
// beginning of each package's comment.
func TestArchitectureHasTheParts(t *testing.T) {
	t.Parallel()
	const page, begin, end = root + "/docs/architecture.md", "<!-- parts -->\n", "<!-- end of parts -->\n"
	module, err := ownTree()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no lines %q and %q around the list of parts", page, begin, end)
	}
	want := head + begin + parts(module) + end + tail
	if want == string(data) {
		return
	}
	if !*updateParts {
		t.Fatalf("the list of parts in %s is not up to date; run go test ./cmd/covey -run TestArchitectureHasTheParts -update",
			page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// parts is the list of all packages, the ground first.
func parts(t *tree) string {
	says := map[string]string{}
	for _, f := range t.files {
		if f.syntax.Doc == nil || f.test && says[f.folder()] != "" {
			continue
		}
		text := new(doc.Package).Synopsis(f.syntax.Doc.Text())
		for _, word := range []string{"Package " + path.Base(f.folder()) + " ", "Command " + path.Base(f.folder()) + " "} {
			text = strings.TrimPrefix(text, word)
		}
		says[f.folder()] = text
	}
	var b strings.Builder
	for _, f := range floors {
		what := says[f.from]
		if folder, all := strings.CutSuffix(f.from, "/*"); all {
			list := others(says, folder)
			if len(list) == 0 {
				continue
			}
			kind := "parts of teams"
			if path.Base(folder) == "teammate" {
				kind = "kinds of agents"
			}
			what = "are " + kind + " (" + strings.Join(list, ", ") + ")"
		}
		what, _, _ = strings.Cut(what, ": ")
		what, _, _ = strings.Cut(what, "; ")
		fmt.Fprintf(&b, "- `%s` %s\n", f.from, strings.TrimSuffix(what, "."))
	}
	return b.String()
}

// others are the packages in a folder that have no arrows of their own, in order.
func others(says map[string]string, folder string) []string {
	var list []string
	for name := range says {
		own := slices.ContainsFunc(floors, func(a arrows) bool { return a.from == name })
		if path.Dir(name) == folder && !own {
			list = append(list, path.Base(name))
		}
	}
	slices.Sort(list)
	return list
}

// TestArchitectureWalks: in a walk of docs/architecture.md, from one file to the next, one
// package is the other or one of both imports the other.
func TestArchitectureWalks(t *testing.T) {
	t.Parallel()
	module, err := ownTree()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]map[string]bool{}
	for _, f := range module.files {
		if f.test {
			continue
		}
		if imports[f.folder()] == nil {
			imports[f.folder()] = map[string]bool{}
		}
		for _, s := range f.syntax.Imports {
			imports[f.folder()][strings.TrimPrefix(strings.Trim(s.Path.Value, `"`), modulePath+"/")] = true
		}
	}
	step := regexp.MustCompile("(?m)^\\|[^|]*\\| `([^`]+\\.go)` \\|")
	sections := strings.Split(readDoc(t, "docs/architecture.md"), "\n## ")
	for _, title := range []string{"An event, from", "A turn end, from"} {
		at := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, title) })
		if at < 0 {
			t.Fatalf("docs/architecture.md has no walk %q", title)
		}
		steps := step.FindAllStringSubmatch(sections[at], -1)
		if len(steps) < 5 {
			t.Errorf("docs/architecture.md: the walk %q has %d steps", title, len(steps))
		}
		for i, m := range steps {
			here := path.Dir(m[1])
			if imports[here] == nil {
				t.Errorf("docs/architecture.md: %s: there is no such package", m[1])
			}
			if i == 0 {
				continue
			}
			before := path.Dir(steps[i-1][1])
			if before != here && !imports[before][here] && !imports[here][before] {
				t.Errorf("docs/architecture.md: the walk %q goes from %s to %s; neither imports the other", title, before, here)
			}
		}
	}
}
