package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestTextOf(t *testing.T) {
	for _, tc := range []struct {
		name  string
		args  []string
		stdin string
		want  string // empty: an error of usage
	}{
		{"words", []string{"look", "at this"}, "", "look at this"},
		{"stdin", []string{"-"}, "from\nstdin\n", "from\nstdin\n"},
		{"a dash among words", []string{"a", "-"}, "ignored", "a -"},
		{"nothing", []string{" ", ""}, "", ""},
		{"nothing on stdin", []string{"-"}, "\n", ""},
		{"not UTF-8", []string{"a\xffb"}, "", "a\ufffdb"},
		{"much", []string{"-"}, strings.Repeat("x", 10<<20), strings.Repeat("x", 10<<20)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := New(strings.NewReader(tc.stdin), &bytes.Buffer{}, &bytes.Buffer{}, "devel")
			got, err := c.TextOf(tc.args, "say something")
			if err != nil && err.Error() != "say something" {
				t.Error(err)
			}
			if got != tc.want || (ExitCode(err) == ExitUsage) != (tc.want == "") {
				t.Errorf("%d bytes (%v), want %d", len(got), err, len(tc.want))
			}
		})
	}
}

// TestFolder: -C must be a folder that is there.
func TestFolder(t *testing.T) {
	dir := teamtest.ScriptTeam(t)
	for path, want := range map[string]string{
		filepath.Join(dir, "gone"):      "there is no such folder",
		filepath.Join(dir, "team.yaml"): "is not a folder",
	} {
		c, _, _ := program()
		c.Dir = path
		if _, err := c.Folder(); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("-C %s: %v, want %q", path, err, want)
		}
	}
	c, _, _ := program()
	c.Dir = dir
	if got, err := c.Folder(); err != nil || got != dir {
		t.Errorf("-C %s: %s (%v)", dir, got, err)
	}
	if got := c.Path("/absolute"); got != "/absolute" {
		t.Errorf("an absolute path became %s", got)
	}
}

// program is a program that prints to buffers.
func program() (*Env, *bytes.Buffer, *bytes.Buffer) {
	var out, errOut bytes.Buffer
	return New(strings.NewReader(""), &out, &errOut, "devel"), &out, &errOut
}
