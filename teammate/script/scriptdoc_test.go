package script_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/script"
)

// TestDocumentedScriptsAreScripts parses the examples of docs/script-model.md, and
// checks that every key occurs in one of them.
func TestDocumentedScriptsAreScripts(t *testing.T) {
	text, err := os.ReadFile("../../docs/script-model.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	shown := ""
	for _, block := range blocks {
		shown += string(block[1])
		if _, err := script.Parse("script-model.md", block[1]); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
	}
	for _, key := range []string{
		"steps", "helpers", "usage", "delay", "exhausted", "say", "call", "when", "times", "error", "tool", "input",
		"type", "message", "input_tokens", "output_tokens",
	} {
		if !strings.Contains(shown, key+":") {
			t.Errorf("docs/script-model.md has no example of the key %s", key)
		}
	}
}
