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
	in := ReadInstructions(root, filepath.Join(dir, "repo"))
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

// TestPrivateInstructions: an import reaches no hidden file of the home, where keys are, not even from a
// workspace that is the home, and no file that a rule denies; what such a file includes is not read, either.
func TestPrivateInstructions(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	put(t, filepath.Join(home, ".aws", "credentials"), "a key")
	put(t, filepath.Join(home, ".claude", "CLAUDE.md"), "of the home @../.netrc")
	put(t, filepath.Join(home, ".netrc"), "a password")
	put(t, filepath.Join(home, "src", "AGENTS.md"), "of src @../.aws/credentials @.env @more.md @deep/more.md")
	put(t, filepath.Join(home, "src", ".env"), "a variable @hidden.md")
	put(t, filepath.Join(home, "src", "hidden.md"), "told by a variable")
	put(t, filepath.Join(home, "src", "more.md"), "more of src")
	put(t, filepath.Join(home, "src", "deep", "more.md"), "more of deep")
	put(t, filepath.Join(home, "src", "deep", "CLAUDE.md"), "of deep @../.env")
	put(t, filepath.Join(home, ".config", "work", "AGENTS.md"), "of config @.part.md")
	put(t, filepath.Join(home, ".config", "work", ".part.md"), "a part of config")
	if err := os.Symlink(".aws/credentials", filepath.Join(home, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	denied := func(path string) bool { return filepath.Base(path) == ".env" }
	for _, tc := range []struct {
		root, top  string
		want, lack []string
	}{
		{"", "", []string{"of the home", "AGENTS.md was not read: it is a hidden file of the home"}, []string{"a key", "a password"}},
		{"src", "", []string{"of src", "more of src", "more of deep", ".env was not read: a permission rule denies it"},
			[]string{"a key", "a variable", "told by a variable"}},
		{".config/work", ".config/work", []string{"of config", "a part of config"}, nil},
	} {
		in := ReadInstructions(filepath.Join(home, tc.root), filepath.Join(home, tc.top)).Without(denied)
		text := in.Text() + strings.Join(in.Notes, "\n")
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q:\n%s", tc.root, want, text)
			}
		}
		for _, lack := range tc.lack {
			if strings.Contains(text, "\n"+lack) {
				t.Errorf("%q has %q:\n%s", tc.root, lack, text)
			}
		}
	}
	nested := ReadInstructions(filepath.Join(home, "src"), filepath.Join(home, "src")).Without(denied).Nested()
	files, notes := nested.To(filepath.Join(home, "src", "deep", "x.go"))
	if len(files) != 1 || files[0].text != "of deep @../.env" || !strings.Contains(strings.Join(notes, ""), "a permission rule denies it") {
		t.Errorf("below src: %v, %q", files, notes)
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
