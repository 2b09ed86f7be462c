package writes

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestListIsShort: many files are as many lines as a person reads, and a count of the rest.
func TestListIsShort(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 120).Draw(r, "files")
		files := make([]string, n)
		for i := range files {
			files[i] = fmt.Sprintf("f%d", i)
		}
		text := List(files)
		shown := strings.Count(text, "- f")
		if shown != min(n, 50) || strings.HasSuffix(text, "\n") {
			r.Fatalf("%d files: %q", n, text)
		}
		if more := fmt.Sprintf("\nand %d more", n-50); strings.HasSuffix(text, more) != (n > 50) {
			r.Fatalf("%d files: %q", n, text)
		}
	})
}

// TestUndoTextIsReadBack: a shell that runs what UndoText says gets the very files.
func TestUndoTextIsReadBack(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell to ask")
	}
	name := rapid.StringOfN(rapid.SampledFrom([]rune("ab'\" $`\\;&*~")), 1, 8, -1)
	rapid.Check(t, func(r *rapid.T) {
		files := rapid.SliceOfN(name, 1, 20).Draw(r, "files")
		_, rest, _ := strings.Cut(UndoText("main", files), " -- ")
		args := rest[:strings.LastIndex(rest, "` (`git rm`")]
		out, err := exec.Command(shell, "-c", `printf '%s\n' `+args).Output()
		got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if err != nil || !slices.Equal(got, files) {
			r.Fatalf("%q became %q (%v)", files, got, err)
		}
	})
}
