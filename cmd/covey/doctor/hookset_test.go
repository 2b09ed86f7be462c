package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// TestHookInput: files, stdin and nothing; what is too much is refused.
func TestHookInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.json"), []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := cli.New(strings.NewReader(`{"b":2}`), &bytes.Buffer{}, &bytes.Buffer{}, "devel")
	c.Dir = dir
	for path, want := range map[string]string{"": "{}", "in.json": `{"a":1}`, "-": `{"b":2}`} {
		if got, err := hookInput(c, path); err != nil || string(got) != want {
			t.Errorf("--input %q: %s (%v), want %s", path, got, err, want)
		}
	}
	if _, err := hookInput(c, "gone.json"); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("a file that is not there: %v", err)
	}
	c.In = bytes.NewReader(make([]byte, maxHookInput+1))
	if _, err := hookInput(c, "-"); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("too much: %v", err)
	}
}
