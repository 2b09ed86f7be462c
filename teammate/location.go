package teammate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// inWorkspace reports whether everything that a call reaches lies in the
// member's workspace or one of the folders beside it, symbolic links followed.
// For a tool that writes, the
// workspace's .git does not count as part of it: who writes there can have
// other programs run what he likes. This decides who is asked; it is no
// sandbox.
func inWorkspace(w *Workdir, t *tool, input json.RawMessage, beside ...string) bool {
	roots := []string{real(w.Root())}
	for _, dir := range beside {
		roots = append(roots, real(dir))
	}
	for _, path := range locations(t, input, w.Dir()) {
		// Where a path goes up again (link/../x), the kernel and a tool that
		// cleans it first may mean different places: both have to be inside.
		for _, place := range []string{real(path), real(filepath.Clean(path))} {
			if !slices.ContainsFunc(roots, func(root string) bool { return reaches(root, place, t.spec.Edits) }) {
				return false
			}
		}
	}
	return true
}

// reaches reports whether place lies in root, and not in its .git for a tool
// that writes.
func reaches(root, place string, edits bool) bool {
	rel, err := filepath.Rel(root, place)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	return !edits || !slices.Contains(strings.Split(rel, "/"), ".git")
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

// maxLinks bounds the symbolic links on a path, as kernels do.
const maxLinks = 40

// real is path with the symbolic links on it followed, also where its end does
// not exist yet: a link that points to a file still to be made leads there.
func real(path string) string {
	done, rest := "/", parts(path)
	for links := 0; len(rest) > 0; {
		next := filepath.Join(done, rest[0])
		target, err := os.Readlink(next)
		if err != nil || rest[0] == ".." {
			done, rest = next, rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return "/" // a loop: nowhere
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(parts(target), rest[1:]...)
	}
	return done
}

// parts are the names on a path.
func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(part string) bool { return part == "" || part == "." })
}
