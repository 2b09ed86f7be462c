package texts

import (
	"regexp"
	"sync"
)

// Pattern returns a regular expression that is compiled on first use. Most processes of
// covey, such as those of hooks, use none, and compiling all of them takes longer than
// everything else before main.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
