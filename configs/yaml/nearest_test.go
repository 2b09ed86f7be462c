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
		if got := Nearest(s, keys); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", s, got, want)
		}
	}
}
