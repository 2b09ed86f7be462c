package configs

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/texts"
)

// TestShellWords checks that no file name is lost in punctuation.
func TestShellWords(t *testing.T) {
	for command, want := range map[string]string{
		"a b  c":                   "a|b|c",
		"a;b&&c||d|e&f":            "a|b|c|d|e|f",
		"(a) $(b) `c` <d >e":       "a|$|b|c|d|e",
		"'a b' \"c\" d\\ e":        "a|b|c|d|e",
		"X=1 Y=./a ./b":            "X|1|Y|./a|./b",
		"a\nb\tc\r\n":              "a|b|c",
		`"$CLAUDE_PROJECT_DIR"/a`:  "$CLAUDE_PROJECT_DIR/a",
		"${CLAUDE_PROJECT_DIR}/a;": "${CLAUDE_PROJECT_DIR}/a",
		"":                         "",
	} {
		if got := strings.Join(shellWords(command), "|"); got != want {
			t.Errorf("%q is %q, want %q", command, got, want)
		}
	}
}

// TestWithin distinguishes paths in a folder from paths with the same prefix.
func TestWithin(t *testing.T) {
	for path, want := range map[string]bool{
		"/a/b": true, "/a/b/c": true, "/a/bc": false, "/a": false, "/": false, "/a/b/../c": false, "/a/b/..x": true,
	} {
		if got := texts.Within("/a/b", path); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}
