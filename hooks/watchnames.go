package hooks

import (
	"slices"
	"strings"
)

// WatchNames are the names that the matchers of FileChanged groups spell out:
// the files that have to be watched for their hooks to hear of anything. A part
// of a matcher that is an expression names none.
func (r *Runner) WatchNames() []string {
	var names []string
	for _, h := range slices.Concat(r.armed[FileChanged], r.opts.Callbacks.of(FileChanged)) {
		names = append(names, h.matcher.names()...)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// names are the parts of a matcher that are plain names. A dot is meant as one:
// few write `\.envrc`.
func (m *matcher) names() []string {
	if m.regex == nil {
		return m.exact
	}
	return slices.DeleteFunc(strings.Split(m.regex.String(), "|"), func(part string) bool {
		return part == "" || strings.ContainsAny(part, `\^$*+?()[]{}`)
	})
}
