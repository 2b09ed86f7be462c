package writes

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Outside lists the paths that match none of the globs in owns, which are the files
// that an owner of these globs may not write. Paths and globs are relative to the
// workspace; a path that leads out of it matches nothing. A nil owns matches
// everything. Matching is case-sensitive.
func Outside(owns, paths []string) []string {
	if owns == nil {
		return nil
	}
	var out []string
	for _, p := range paths {
		if !fits(owns, p) {
			out = append(out, p)
		}
	}
	return out
}

// Protected lists the paths that match a glob in protect. Case is ignored, because
// some file systems ignore it.
func Protected(protect, paths []string) []string {
	var out []string
	lower := make([]string, len(protect))
	for i, glob := range protect {
		lower[i] = strings.ToLower(glob)
	}
	for _, p := range paths {
		if fits(lower, strings.ToLower(p)) {
			out = append(out, p)
		}
	}
	return out
}

// fits reports whether a path matches one of the globs. A glob that names a folder
// matches all files in it, but one that ends in a star does not: "src/*" does not match
// files in subfolders of src.
//
// Paths that lead out of the workspace match nothing, so that ** stays within it.
func fits(globs []string, p string) bool {
	clean := path.Clean(p)
	if clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean) {
		return false
	}
	for _, glob := range globs {
		for at := clean; at != "."; at = path.Dir(at) {
			if doublestar.MatchUnvalidated(glob, at) && (at == clean || !strings.HasSuffix(glob, "*")) {
				return true
			}
		}
	}
	return false
}
