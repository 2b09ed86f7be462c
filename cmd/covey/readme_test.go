package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeSample: the spec that README.md shows runs as it is, in an empty folder, and what it
// says of a mistake in it is what validate prints.
func TestReadmeSample(t *testing.T) {
	t.Setenv("COVEY_STATE_HOME", t.TempDir())
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("README.md shows no spec")
	}
	dir := t.TempDir()
	covey := func(spec string, args ...string) (code int, out string) {
		if err := os.WriteFile(filepath.Join(dir, "team.yaml"), []byte(spec), 0o600); err != nil {
			t.Fatal(err)
		}
		var both bytes.Buffer
		code = run(t.Context(), append([]string{"-C", dir}, args...), strings.NewReader(""), &both, &both)
		return code, both.String()
	}
	sample := string(block[1])
	if code, out := covey(sample, "up", "--trust"); code != 0 || !strings.Contains(out, "done 2 of 2") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	mistake := strings.Replace(sample, "agent: poet, desc", "agent: peot, desc", 1)
	code, out := covey(mistake, "validate")
	shown := "    $ covey validate\n    " + strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(out, dir+"/", "")), "\n", "\n    ") + "\n"
	if code != 2 || !strings.Contains(string(readme), shown) {
		t.Errorf("README.md does not show:\n%s", shown)
	}
}
