package texts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTypo(t *testing.T) {
	words := []string{"timeout", "command", "Bash"}
	for written, want := range map[string]string{"timout": "timeout", "bash": "Bash", "comand": "command", "zzz": "", "": ""} {
		if got := Typo(written, words); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}

func TestCuts(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Preview(" one\ntwo", 20), "one …"},
		{Preview("äöü", 3), "ä…"},
		{Preview("a\xffb", 20), "a\uFFFDb"},
		{Clip("äöü", 2), "äö…"},
		{Clip("äöü", 3), "äöü"},
		{Middle("", 100), ""},
		{Middle(strings.Repeat("é", 100), 100), strings.Repeat("é", 100)},
		{Middle(strings.Repeat("é", 100)+"ab", 100), strings.Repeat("é", 20) + "\n\n... [62 characters left out] ...\n\n" +
			strings.Repeat("é", 18) + "ab"},
		{Runes("äöü", 2), "äö"},
		{Runes("äöü", 9), "äöü"},
		{Few([]string{"a", "b"}, 2), "a, b"},
		{Few([]string{"a", "b", "c", "d"}, 2), "a, b and 2 more"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

// The distance between two words is a distance.
func TestDistance(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab := distance(a, b)
		switch {
		case ab != distance(b, a):
			t.Fatalf("%q to %q is not as far as back", a, b)
		case (ab == 0) != (a == b):
			t.Fatalf("%q to %q is %d", a, b, ab)
		case ab > distance(a, c)+distance(c, b):
			t.Fatalf("%q to %q is shorter by way of %q", a, b, c)
		case ab > max(len(a), len(b)):
			t.Fatalf("%q to %q is %d", a, b, ab)
		}
	})
}

// TestCause: messages hold the system's word once, without the path.
func TestCause(t *testing.T) {
	_, err := os.Open(filepath.Join(t.TempDir(), "none"))
	if got := Cause(err); got != "no such file or directory" {
		t.Errorf("cause is %q", got)
	}
	if got := Cause(errors.New("another")); got != "another" {
		t.Errorf("cause is %q", got)
	}
	if got := Cause(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}); got != "permission denied" {
		t.Errorf("cause is %q", got)
	}
}
