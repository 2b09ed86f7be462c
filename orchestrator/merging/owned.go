package merging

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Outside lists the files that somebody may not write who owns what the globs say.
// Paths and globs are below the workspace; a path that leaves it is outside. No
// globs at all own everything. A name that differs in case is another name.
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

// Protected lists the files that nobody may change unasked. Case makes no
// difference: on some disks it makes none either.
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

// fits reports whether a path fits one of some globs. One that names a folder stands
// for all that is in it.
//
// Paths that lead out of the workspace fit nothing: a team may not be given what lies
// beside it by a glob such as **. A glob that ends in a star names files alone, so that
// "src/*" does not stand for all that lies deeper.
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

// Paths are the files of some changes as seen from the workspace, which may be a
// folder below the first one of the repository (worktree.Repo.Prefix). What lies
// beside it begins with "../".
func Paths(changes []worktree.Change, prefix string) []string {
	list := make([]string, len(changes))
	for i, c := range changes {
		list[i] = Below(prefix, c.Path)
	}
	return list
}

// Below is a path of the repository as seen from the folder prefix in it.
//
// Both paths have slashes and are clean, as git gives them. The result is for people and
// for globs, not for the disk.
func Below(prefix, p string) string {
	if prefix == "" {
		return p
	}
	up := ""
	for at := prefix; at != "." && at != "/"; at = path.Dir(at) {
		if rest, in := strings.CutPrefix(p, at+"/"); in {
			return up + rest
		}
		up += "../"
	}
	return up + p
}
