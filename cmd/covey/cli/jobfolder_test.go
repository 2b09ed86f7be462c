package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// hide replaces the one secret of these tests.
func hide(text string) string { return strings.ReplaceAll(text, "secret", "***") }

// In whatever pieces a text is written, it comes out as one that was written at once, with its
// secrets masked, and each line is there as soon as it is complete.
func TestMaskedLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"sec", "ret", "secret", "\n", "a", "", "secret\nse", "cret"})).Draw(t, "pieces")
		var out bytes.Buffer
		env, flush := (&Env{Out: &term.Screen{Writer: &out}, Err: &term.Screen{Writer: &out}}).ForJob(hide)
		var all string
		for _, piece := range pieces {
			env.Out.Printf("%s", piece)
			all += piece
			if whole := hide(all[:strings.LastIndexByte(all, '\n')+1]); out.String() != whole {
				t.Fatalf("after %q there is %q, want %q", all, out.String(), whole)
			}
		}
		flush()
		if out.String() != hide(all) {
			t.Fatalf("of %q there is %q", all, out.String())
		}
	})
}

// brokenPipe is a log whose reader is gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A job has no terminal, asks nobody, and learns that its log is gone.
func TestForJob(t *testing.T) {
	t.Parallel()
	out := &term.Screen{Writer: brokenPipe{}, File: os.Stdout, Color: true}
	env, flush := (&Env{In: os.Stdin, Out: out, Err: out, Dir: "d", Team: "t"}).ForJob(hide)
	defer flush()
	if env.Out.TTY() || env.Err.Color || env.Interactive() || env.Dir != "d" || env.Team != "t" {
		t.Errorf("%+v", env)
	}
	if _, err := env.Ask("?"); err == nil {
		t.Error("somebody has answered")
	}
	if _, err := fmt.Fprint(env.Out.Writer, "a\n"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a lost reader: %v", err)
	}
}

// The text of an error is masked, and its exit code and whether it was said stay.
func TestMaskedError(t *testing.T) {
	t.Parallel()
	if MaskedError(nil, hide) != nil {
		t.Error("an error of none")
	}
	for _, tc := range []struct {
		err  error
		code int
		text string
	}{
		{Usagef("the secret"), ExitUsage, "covey: the ***"},
		{fmt.Errorf("secret: %w", ErrNotTrusted), ExitNotTrusted, "covey: ***: not trusted"},
		{&specError{errors.New("a.yaml:1:1: secret")}, ExitUsage, "a.yaml:1:1: ***"},
		{&EndError{Code: 3, Err: errors.New("secret")}, 3, "covey: ***"},
	} {
		err := MaskedError(tc.err, hide)
		if ExitCode(err) != tc.code || ErrorText(err) != tc.text || WasSaid(err) {
			t.Errorf("%v: code %d, %q", tc.err, ExitCode(err), ErrorText(err))
		}
	}
	if !WasSaid(MaskedError(&EndError{Code: 1}, hide)) {
		t.Error("what was said is said again")
	}
}

// The folder is made, other files in it stay, and results of an earlier job go.
func TestJobFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := JobFolder(dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range append([]string{"mine.txt"}, jobFiles...) {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := JobFolder(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "mine.txt" {
		t.Errorf("left are %v (%v)", left, err)
	}
	link, file, full := filepath.Join(t.TempDir(), "link"), filepath.Join(dir,
		"mine.txt"), filepath.Join(t.TempDir(), "full")
	if err := errors.Join(os.Symlink(dir, link), os.MkdirAll(filepath.Join(full, jobFiles[0], "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		link: "is a link", file: "cannot be made: not a directory", file + "/x": "cannot be made: not a directory",
		full: "of an earlier job cannot be removed: directory not empty", "/proc/covey": "cannot be made",
	} {
		err := JobFolder(path)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for path, want := range map[string]string{link: "is a link", file: "is no folder", filepath.Join(dir, "new"): ""} {
		if err := ClearJob(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("clear %s: %v, want %q", path, err, want)
		}
	}
	readOnly := t.TempDir()
	if err := os.Chmod(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := JobFolder(readOnly); os.Getuid() != 0 && (err == nil || !strings.Contains(err.Error(), "cannot be written to")) {
		t.Errorf("a folder without rights: %v", err)
	}
}
