package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What instructions may hold, and what they may not reach.
func TestReadInstructions(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "secret.md")
	put(t, outside, "secret")
	root := filepath.Join(dir, "repo", "src")
	put(t, filepath.Join(dir, "repo", ".git", "HEAD"), "")
	put(t, filepath.Join(dir, "repo", "CLAUDE.md"), "of the repository")
	put(t, filepath.Join(dir, "CLAUDE.md"), "above the repository")
	put(t, filepath.Join(root, "AGENTS.md"),
		"a @b.md and `@code.md` me@host.org @missing\n```\n@code.md\n```\n@../../secret.md @"+outside)
	put(t, filepath.Join(root, "b.md"), "b @AGENTS.md @b.md")
	put(t, filepath.Join(root, "code.md"), "code")
	put(t, filepath.Join(root, "CLAUDE.local.md"), strings.Repeat("é", maxInstructionFile))
	put(t, filepath.Join(root, ".claude", "CLAUDE.md"), "binary\x00")
	if err := os.Symlink(outside, filepath.Join(root, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	in := ReadInstructions(root)
	var got []string
	for _, f := range in.Files {
		got = append(got, strings.TrimPrefix(f.Path, Real(filepath.Join(dir, "repo")))+" "+f.Kind)
	}
	equal(t, "files", got, []string{
		"/CLAUDE.md Project", "/src/AGENTS.md Project", "/src/b.md Project", "/src/CLAUDE.local.md Local",
	})
	text, notes := in.Text(), strings.Join(in.Notes, "\n")
	if strings.Contains(text, "secret") && strings.Contains(text, "\nsecret") || strings.Contains(text, "above the") {
		t.Error("something from outside was read")
	}
	for _, want := range []string{"it lies outside", "not text", "too long"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
