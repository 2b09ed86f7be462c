//go:build unix

package tools

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/teammate/workspace"
)

// git runs git in dir without system or user settings.
func git(dir string, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), err
}

var ignorePatterns = []string{
	"*.log", "/build", "build/", "!keep.log", "docs/**/x", "**/foo", "a/*/b", "foo/", "[!a]*.c", `\!x`,
	`\#y`, "a?c",
	"*.c ", "x/**", "/a/b", "[a-c]d", "{a,b}.txt", "a**b", `foo\*`, "**", "!/a/", "*/", "# no", "", "!",
	"/", "//", "a//b",
	"!**/b", "/**/b", "**/", "a/**/", "[", "[a", `\`, "]", "a]", "[]a]", "*.[ch]", "!*/", "/*", "!/docs",
	"x/**/y", "[^a]",
	"a/", "b", "foo/**/bar", "!foo/x", `a\`, "?", "***", "/?", "*a*b*", "docs/*", "!docs/a", "[a-", "a\\ ",
	"a/b/", "\\a", "**b/a", "[[:alpha:]]", "[![:digit:]b]*", "[]]", "[!]]", "[]-a]b", "[\\]]", "[a\\",
}

var ignoreNames = []string{
	"a", "b", "c", "foo", "build", "keep.log", "x.log", "x", "y", "bd", "{a,b}.txt", "a.txt", "abc", "d.c",
	"a.c", "!x", "#y",
	"foo*", "docs", "bar", "]", "aXb", "[", "a ",
}

// covey and git agree on .gitignore files.
func TestIgnoreRulesAgainstGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := t.TempDir()
	if _, err := git(dir, "", "init", "-q"); err != nil {
		t.Fatal(err)
	}
	patterns := rapid.SliceOfN(rapid.SampledFrom(ignorePatterns), 0, 5)
	name := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(ignoreNames), 1, 4),
		func(parts []string) string { return path.Join(parts...) })
	rapid.Check(t, func(rt *rapid.T) {
		work := filepath.Join(dir, "w")
		if err := os.RemoveAll(work); err != nil {
			rt.Fatal(err)
		}
		files := map[string]string{"w/.gitignore": "", "w/a/.gitignore": "", "w/docs/.gitignore": ""}
		for file := range files {
			files[file] = strings.Join(patterns.Draw(rt, file), "\n")
			write(rt, filepath.Join(dir, file), files[file])
		}
		for _, n := range rapid.SliceOfN(name, 1, 12).Draw(rt, "names") {
			full := filepath.Join(work, n)
			if os.MkdirAll(filepath.Dir(full), 0o755) == nil {
				if _, err := os.Lstat(full); err != nil {
					write(rt, full, "x")
				}
			}
		}
		want, err := git(dir, "", "ls-files", "-z", "--others", "--exclude-standard", "--", "w")
		if err != nil {
			rt.Fatal(err)
		}
		got := walked(rt, dir, "w")
		if got != sortedNames(want) {
			rt.Fatalf("with %q\n got %q\nwant %q", files, got, sortedNames(want))
		}
		// A search that begins in a subfolder finds the same files there, unless git
		// ignores the folder itself, because a search may name an ignored folder.
		if got, want := walked(rt, dir, "w/a"), under(want, "w/a/"); got != want && want != "" {
			rt.Fatalf("from w/a, with %q\n got %q\nwant %q", files, got, want)
		}
	})
}

func write(t interface{ Fatal(...any) }, file, content string) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// walked returns the files that a search of dir/sub finds, as paths below dir.
func walked(t *rapid.T, dir, sub string) string {
	if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
		return ""
	}
	s, _, err := paths{workspace.NewWorkdir(dir)}.openSearch(filepath.Join(dir, sub))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var names []string
	s.visit = func(name string, _ fs.DirEntry) error {
		names = append(names, path.Join(sub, name))
		return nil
	}
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// sortedNames converts git's list of names, which end with a zero byte, to lines.
func sortedNames(list string) string {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// under returns the names of git's list that begin with prefix.
func under(list, prefix string) string {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == 0 })
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
	slices.Sort(names)
	return strings.Join(names, "\n")
}

func TestIgnoreFilesThatAreOdd(t *testing.T) {
	b := newBench(t, nil)
	b.write(".gitignore", "\xef\xbb\xbf*.log\r\n\r\nbuild/\r\n")
	b.write("a.log", "x")
	b.write("build/x", "x")
	b.write("keep", "x")
	b.write("sub/.gitignore/not-a-file", "x")
	b.write("huge/.gitignore", strings.Repeat("*.x\n", 300_000))
	b.write("huge/a.x", "x")
	b.write("pipe/a", "x")
	b.fifo("pipe/.gitignore") // nobody writes to it
	want := []string{".gitignore", "huge/.gitignore", "huge/a.x", "keep", "pipe/a", "sub/.gitignore/not-a-file"}
	got := strings.Fields(b.ok("Glob", fields{"pattern": "**"}))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Rules also apply outside of git repositories. The rules of the folders above the searched
// one and the exclude file of a repository apply as well.
func TestWhereIgnoreRulesComeFrom(t *testing.T) {
	b := newBench(t, nil)
	b.write(".gitignore", "*.log\n")
	b.write("sub/deep/a.log", "x")
	b.write("sub/deep/a.txt", "x")
	b.shows("Glob", fields{"pattern": "*", "path": "sub/deep"}, "sub/deep/a.txt")
	b.write(".git/info/exclude", "*.txt\n")
	b.shows("Glob", fields{"pattern": "*", "path": "sub/deep"}, "No files found")
	b.write("sub/.git/HEAD", "x")
	if got := b.ok("Glob", fields{"pattern": "*", "path": "sub/deep"}); !strings.Contains(got, "a.log") {
		t.Errorf("in a repository of its own: %q", got)
	}
}
