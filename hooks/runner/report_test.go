package runner

import (
	"testing"
)

// TestIsReport tells what test runners print for programs from an answer that
// was meant and went wrong.
func TestIsReport(t *testing.T) {
	for text, want := range map[string]bool{
		"{\"Action\":\"run\"}\n{\"Action\":\"pass\"}\n": true,
		"{\"a\":1} [2] \"three\" 4":                     true,
		"{\"a\":1}":                                     false,
		"{\"a\":1}\n{\"decision\":\"block\"}":           false,
		"{\"continue\":false}\n{}":                      false,
		"{\"a\":1}\nplain":                              false,
		"{\"a\":":                                       false,
		"":                                              false,
		"{\"hookSpecificOutput\":{}}{}":                 false,
		"{\"a\":{\"decision\":\"block\"}}\n{\"b\":\"continue\"}": true,
	} {
		if got := isReport(text, false); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !isReport("{\"Action\":\"run\"}\n{\"Acti", true) || isReport("{\"Acti", true) {
		t.Error("of a text that was cut, what is there decides")
	}
}
