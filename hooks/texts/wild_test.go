package texts

import "testing"

// TestWild: stars match any text, and nothing else is special.
func TestWild(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/b", "a/b", true}, {"a/b", "a/bc", false}, {"a/*", "a/", true}, {"a/*c", "a/bc", true}, {"a/*c",
			"a/cb", false},
		{"a/*b*c*", "a/xbycz", true}, {"a/*b*c*", "a/xcyb", false}, {"*", "", true}, {"a*a", "a",
			false}, {"a/[b]", "a/b", false},
	} {
		if got := Wild(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q means %q: %v", tt.pattern, tt.name, got)
		}
	}
}
