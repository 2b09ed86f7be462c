package writes

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOutside(t *testing.T) {
	for _, tc := range []struct{ owns, paths, want string }{
		{"docs/**", "docs/a.md docs/x/b.md", ""},
		{"docs/**", "docs/a.md main.go", "main.go"},
		{"docs/** *.md", "README.md docs/a main.go", "main.go"},
		{"docs", "docs/a.md docs/x/y", ""}, // a folder is all that is in it
		{"docs/*", "docs/a docs/x/y", "docs/x/y"},
		{"docs/**", "docs/../main.go ../docs/a /docs/a", "docs/../main.go ../docs/a /docs/a"},
		{"docs/**", "Docs/a docsx/a", "Docs/a docsx/a"},
		{"**", "a b/c .x/y", ""},
		{"{a,b}/*.go", "a/x.go b/x.go c/x.go", "c/x.go"},
	} {
		got := strings.Join(Outside(strings.Fields(tc.owns), strings.Fields(tc.paths)), " ")
		if got != tc.want {
			t.Errorf("who owns %s, of %s: outside are %q, want %q", tc.owns, tc.paths, got, tc.want)
		}
	}
	if got := Outside(nil, []string{"a"}); got != nil {
		t.Errorf("who owns everything: %v", got)
	}
	if got := Outside([]string{}, []string{"a"}); len(got) != 1 {
		t.Errorf("who owns nothing: %v", got)
	}
}

func TestProtected(t *testing.T) {
	for _, tc := range []struct{ protect, paths, want string }{
		{"policy/** .github/**", "policy/gate.sh a .github/x/y.yml", "policy/gate.sh .github/x/y.yml"},
		{"policy/**", "Policy/GATE.sh", "Policy/GATE.sh"},
		{"Makefile", "makefile src/Makefile", "makefile"},
		{"policy", "policy/a policyx/a", "policy/a"},
		{"", "a", ""},
	} {
		got := strings.Join(Protected(strings.Fields(tc.protect), strings.Fields(tc.paths)), " ")
		if got != tc.want {
			t.Errorf("protect %s, of %s: %q, want %q", tc.protect, tc.paths, got, tc.want)
		}
	}
}

// Every path is owned or outside, and none is both.
func TestOutsideIsAPartition(t *testing.T) {
	name := rapid.SampledFrom([]string{"docs/a", "docs/b/c", "main.go", "../x", "a"})
	rapid.Check(t, func(r *rapid.T) {
		paths := rapid.SliceOfDistinct(name, rapid.ID).Draw(r, "paths")
		out := Outside([]string{"docs/**"}, paths)
		for _, p := range paths {
			if slices.Contains(out, p) == strings.HasPrefix(p, "docs/") {
				r.Fatalf("%s: outside are %v", p, out)
			}
		}
	})
}
