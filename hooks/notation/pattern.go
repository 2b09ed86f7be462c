package notation

import (
	"regexp"
	"sync"
)

// Pattern gives a regular expression that is compiled when it is first used. Most
// processes of covey, such as those of hooks, never use one, and compiling all of them
// takes longer than everything else that happens before main.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
