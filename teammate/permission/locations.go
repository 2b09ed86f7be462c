package permission

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/hooks/texts"
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
	return !slices.ContainsFunc(t.places(input, w.Dir()), func(place string) bool {
		return !slices.ContainsFunc(roots, func(root string) bool {
			return texts.Within(root, place) && !(t.Spec.Edits && workspace.IsGit(root, place))
		})
	})
}

// places returns the locations of a call without links, each as the kernel resolves it, and also as
// a tool resolves it that cleans the path before links. The two differ for a path that goes up
// again (link/../x).
func (t *Tool) places(input json.RawMessage, dir string) []string {
	var all []string
	for _, path := range t.Locations(input, dir) {
		all = append(all, workspace.Real(path), workspace.Real(filepath.Clean(path)))
	}
	return all
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
			Notebook string `json:"notebook_path"`
			Path     string `json:"path"`
		}
		if json.Unmarshal(input, &in) != nil {
			return []string{"/"} // unknown, so outside
		}
		named = []string{in.FilePath, in.Notebook, in.Path}
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
