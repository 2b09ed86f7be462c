package orchestrator_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestLibraryDoc: the code in docs/library.md is cut from Examples, which are
// compiled and checked. Only its indentation may differ.
func TestLibraryDoc(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	plain := func(code string) string {
		lines := strings.Split(strings.TrimSpace(code), "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return strings.Join(lines, "\n")
	}
	examples := plain(read("example_library_test.go")) + "\n" + plain(read("../hooks/runner/example_callback_test.go"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read("../docs/library.md"), -1)
	if len(blocks) < 6 {
		t.Errorf("%d pieces of code", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(examples, plain(b[1])) {
			t.Errorf("no Example holds this code; cut it anew:\n%s", b[1])
		}
	}
}
