package runner

import (
	"slices"

	"github.com/coveyteam/covey/hooks"
)

// WatchNames returns the file names that the matchers of FileChanged groups spell out.
// These files must be watched for the hooks to run. A part of a matcher that is a regular
// expression names no file.
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
