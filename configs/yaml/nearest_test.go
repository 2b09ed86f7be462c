package yaml

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	keys := []string{"teammates", "tasks", "goal", "permission_mode", "lead", "description"}
	for s, want := range map[string]string{
		"teammtes": "teammates", "taemmates": "teammates", "TEAMMATES": "teammates", "task": "tasks", "goa": "goal",
		"gaol": "goal", "permision_mode": "permission_mode", "desc": "description", "x": "", "zzzz": "", "": "",
		strings.Repeat("a", 5000): "", "led": "lead", "leader": "lead",
	} {
		if got := nearest(s, keys); got != want {
			t.Errorf("nearest(%.20q) = %q, want %q", s, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1},
		{"abc", "abcd", 1}, {"kitten", "sitting", 3}, {"é", "e", 1}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
		if got := distance(test.b, test.a); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
		}
	}
}
