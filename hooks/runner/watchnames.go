package runner

import (
	"slices"

	"github.com/coveyteam/covey/hooks"
)

// WatchNames are the names that the matchers of FileChanged groups spell out:
// the files that have to be watched for their hooks to hear of anything. A part
// of a matcher that is an expression names none.
func (r *Runner) WatchNames() []string {
	var names []string
	for _, h := range r.armed[hooks.FileChanged] {
		names = append(names, h.matcher.Names()...)
	}
	for _, c := range r.opts.Callbacks.Of(hooks.FileChanged) {
		names = append(names, c.Matcher.Names()...)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
