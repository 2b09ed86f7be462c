package tools

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"
)

// maxChoices is how many ways a pattern's braces may be read. The matcher tries
// them one by one, for every file, and listens to no context while it does.
const maxChoices = 10_000

// errGlob is the error of a pattern that cannot be matched.
var errGlob = errors.New("is no glob pattern")

// checkGlob refuses patterns that are wrong, or that would take for ever.
func checkGlob(pattern string) error {
	if pattern == "" || !doublestar.ValidatePattern(filepath.ToSlash(pattern)) {
		return fmt.Errorf("%q %w; are all brackets and braces closed?", pattern, errGlob)
	}
	if choices(pattern) > maxChoices {
		return fmt.Errorf("the pattern %w: its braces leave more than %d choices; write fewer", errGlob, maxChoices)
	}
	return nil
}

// choices is how many patterns without braces a pattern stands for, or more.
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
