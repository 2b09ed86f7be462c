package main_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/doc"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

var updateParts = flag.Bool("update", false, "write the table of parts in docs/architecture.md anew")

// TestArchitectureHasTheParts: the table of parts is made from the list of arrows and the
// first sentence of each package's comment.
func TestArchitectureHasTheParts(t *testing.T) {
	const page, begin, end = root + "/docs/architecture.md", "<!-- parts -->\n", "<!-- end of parts -->\n"
	module, err := loadTree(os.DirFS(root))
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
		t.Fatalf("%s has no lines %q and %q around the table of parts", page, begin, end)
	}
	want := head + begin + parts(module) + end + tail
	if want == string(data) {
		return
	}
	if !*updateParts {
		t.Fatalf("the table of parts in %s is not up to date; run go test ./cmd/covey -run TestArchitectureHasTheParts -update",
			page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// parts is the table of all packages, the ground first.
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
	b.WriteString("| package | imports | what it does |\n|---|---|---|\n")
	for _, f := range floors {
		what := says[f.from]
		if folder, all := strings.CutSuffix(f.from, "/*"); all {
			what = "agent kinds: " + strings.Join(others(says, folder), ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.from, cmp.Or(f.to, "-"), what)
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
