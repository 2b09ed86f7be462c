package pages

import "testing"

func TestDomID(t *testing.T) {
	for name, want := range map[string]string{"api-1": "api-1", "a b": "a_20b", "a_b": "a_5fb", `"><`: "_22_3e_3c", "": ""} {
		if got := DomID(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
