package hooks

import (
	"slices"
)

// WatchNames are the names that the matchers of FileChanged groups spell out:
// the files that have to be watched for their hooks to hear of anything. A part
// of a matcher that is an expression names none.
func (r *Runner) WatchNames() []string {
	var names []string
	for _, h := range slices.Concat(r.armed[FileChanged], r.opts.Callbacks.of(FileChanged)) {
		names = append(names, h.matcher.Names()...)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
