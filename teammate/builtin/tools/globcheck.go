package tools

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"
)

// maxChoices limits the number of alternatives in a pattern's braces. The matcher tries
// all of them for every file, and ignores its context meanwhile.
const maxChoices = 10_000

// errGlob is the error of an invalid pattern.
var errGlob = errors.New("is no glob pattern")

// checkGlob rejects patterns that are invalid or would take too long.
func checkGlob(pattern string) error {
	if pattern == "" || !doublestar.ValidatePattern(filepath.ToSlash(pattern)) {
		return fmt.Errorf("%q %w; are all brackets and braces closed?", pattern, errGlob)
	}
	if choices(pattern) > maxChoices {
		return fmt.Errorf("the pattern %w: its braces leave more than %d choices; write fewer", errGlob, maxChoices)
	}
	return nil
}

// choices returns an upper bound of the patterns without braces that a pattern expands to.
func choices(pattern string) int {
	total := 1
	var open []int // commas in each brace that is not closed yet
	for i := 0; i < len(pattern) && total <= maxChoices; i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			open = append(open, 1)
		case len(open) == 0:
		case c == ',':
			open[len(open)-1]++
		case c == '}':
			total *= open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return total
}
