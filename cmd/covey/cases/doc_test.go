package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/texts"
)

// TestDocumentedCases reads the cases in docs/testing.md, and finds each key of the form there.
func TestDocumentedCases(t *testing.T) {
	text, err := os.ReadFile("../../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("there are %d cases", len(blocks))
	}
	for i, block := range blocks {
		data := block[1]
		if !strings.HasPrefix(data, "covey-test:") {
			data = "covey-test: 1\ncases:\n" + data
		}
		if _, err := Parse(filepath.Join(t.TempDir(), "a.yaml"), []byte(data)); err != nil {
			t.Errorf("case %d: %v", i+1, err)
		}
	}
	for _, kind := range []SightKind{SeesGate, SeesTask, SeesCall, SeesMessage, SeesEnd} {
		row := regexp.MustCompile("(?m)^\\| `" + string(kind) + "`.*$").FindString(string(text))
		for _, key := range keysOf(kind) {
			if !strings.Contains(row, "`"+key+"`") {
				t.Errorf("the row of %s does not name %s: %s", kind, key, texts.Preview(row, 200))
			}
		}
	}
}
