package teammate

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// inWorkspace reports whether everything that a call reaches lies in the
// member's workspace or one of the folders beside it, symbolic links followed.
// For a tool that writes, the
// workspace's .git does not count as part of it: who writes there can have
// other programs run what he likes. This decides who is asked; it is no
// sandbox.
func inWorkspace(w *workspace.Workdir, t *tool, input json.RawMessage, beside ...string) bool {
	roots := []string{workspace.Real(w.Root())}
	for _, dir := range beside {
		roots = append(roots, workspace.Real(dir))
	}
	for _, path := range locations(t, input, w.Dir()) {
		// Where a path goes up again (link/../x), the kernel and a tool that
		// cleans it first may mean different places: both have to be inside.
		for _, place := range []string{workspace.Real(path), workspace.Real(filepath.Clean(path))} {
			if !slices.ContainsFunc(roots, func(root string) bool {
				return workspace.Contains(root, place) &&
					!(t.spec.Edits && workspace.IsGit(root, place))
			}) {
				return false
			}
		}
	}
	return true
}

// locations are the absolute paths that a call reaches; where it names none,
// the directory that the member is in.
func locations(t *tool, input json.RawMessage, dir string) []string {
	var named []string
	if l, ok := t.Tool.(agent.Locator); ok {
		named = l.Locations(input)
	} else {
		var in struct {
			FilePath string `json:"file_path"`
			Path     string `json:"path"`
		}
		if json.Unmarshal(input, &in) != nil {
			return []string{"/"} // who knows where it goes: nowhere inside
		}
		named = []string{in.FilePath, in.Path}
	}
	var paths []string
	for _, path := range named {
		switch {
		case path == "":
		case filepath.IsAbs(path):
			paths = append(paths, path)
		default:
			paths = append(paths, dir+"/"+path)
		}
	}
	if len(paths) == 0 {
		return []string{dir}
	}
	return paths
}
