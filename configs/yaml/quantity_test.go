package yaml

import (
	"regexp"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

// TestGlobs holds what may stand where globs are wanted.
func TestGlobs(t *testing.T) {
	for glob, wrong := range map[string]bool{
		"docs/**": false, "*.md": false, "a/{b,c}/[d-f]*": false, ".github/**": false, "a..b": false, "**": false,
		"/docs": true, "~/docs": true, "../a": true, "a/../b": true, "./a": true, "a/": true, "{a": true, "[a": true,
	} {
		if fault := globFault(glob); (fault != "") != wrong {
			t.Errorf("%s: %q", glob, fault)
		}
	}
}

// FuzzGlob: what globFault takes means something to the matcher, and a fault says
// what to do about it.
func FuzzGlob(f *testing.F) {
	for _, glob := range []string{"docs/**", "/a", "~/", "a/../b", "{a,b}", "[", "a\\", "", "a//b", "**/"} {
		f.Add(glob)
	}
	f.Fuzz(func(t *testing.T, glob string) {
		fault := globFault(glob)
		if fault == "" {
			if _, err := doublestar.Match(glob, "docs/a.md"); err != nil {
				t.Fatalf("%q is taken, and the matcher says %v", glob, err)
			}
			return
		}
		if !strings.Contains(fault, "; ") {
			t.Fatalf("%q: %q names no way out", glob, fault)
		}
		if _, write, ok := strings.Cut(fault, "; write \""); ok && strings.HasPrefix(write, "/") {
			t.Fatalf("%q: %q proposes what is refused again", glob, fault)
		}
	})
}

// FuzzQuantities: no text gives a number below zero or beyond what JSON holds.
func FuzzQuantities(f *testing.F) {
	for _, text := range []string{"200k", "1.5M", "999999TB", "0.001k", "5 GiB", "1e3k", "٣k", "-1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var counted, sized Value[int64]
		for form, p := range map[*regexp.Regexp]Part{countForm(): Count(&counted), sizeForm(): Size(&sized)} {
			d := NewDecoder("team.yaml", []byte("a: 1\n"))
			p.Decode(d, &Node{}, &Node{Kind: TextKind, Text: text})
			if fits := form.MatchString(text); fits == (len(d.Problems) > 0) {
				t.Fatalf("%q as %s: problems %v", text, p.Want(), d.Problems)
			}
		}
		if most := max(counted.V, sized.V); min(counted.V, sized.V) < 0 || most > 1<<60 {
			t.Fatalf("%q is %d or %d", text, counted.V, sized.V)
		}
	})
}
