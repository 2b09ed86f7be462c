package merging

import (
	"path"
	"strings"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Paths returns the files of changes as paths below the workspace, which may be a
// subfolder of the repository (worktree.Repo.Prefix). Paths of files outside of the
// workspace begin with "../".
func Paths(changes []worktree.Change, prefix string) []string {
	list := make([]string, len(changes))
	for i, c := range changes {
		list[i] = Below(prefix, c.Path)
	}
	return list
}

// Below returns a path of the repository relative to the folder prefix in it. Both are
// clean and slash-separated, as git prints them.
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
