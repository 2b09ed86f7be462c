package permission

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Inside reports whether everything that a call reaches is in the member's workspace or in one
// of the other folders, after symbolic links are resolved. For a tool that writes, a .git does
// not count as inside, because a file in it can make other programs run any command. Inside
// decides who is asked; it is not a sandbox.
func (t *Tool) Inside(w *workspace.Workdir, input json.RawMessage, folders ...string) bool {
	roots := []string{workspace.Real(w.Root())}
	for _, dir := range folders {
		roots = append(roots, workspace.Real(dir))
	}
	for _, path := range t.Locations(input, w.Dir()) {
		// For a path that goes up again (link/../x), the kernel and a tool that cleans the
		// path first may reach different places: both must be inside.
		for _, place := range []string{workspace.Real(path), workspace.Real(filepath.Clean(path))} {
			if !slices.ContainsFunc(roots, func(root string) bool {
				return workspace.Contains(root, place) &&
					!(t.Spec.Edits && workspace.IsGit(root, place))
			}) {
				return false
			}
		}
	}
	return true
}

// Locations returns the absolute paths that a call reaches, or the member's directory if the
// call names none.
func (t *Tool) Locations(input json.RawMessage, dir string) []string {
	var named []string
	if l, ok := t.Runner.(agent.Locator); ok {
		named = l.Locations(input)
	} else {
		var in struct {
			FilePath string `json:"file_path"`
			Path     string `json:"path"`
		}
		if json.Unmarshal(input, &in) != nil {
			return []string{"/"} // unknown, so outside
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
