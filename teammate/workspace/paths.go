package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// IsGit reports whether place is in a .git of root.
func IsGit(root, place string) bool {
	rel, err := filepath.Rel(root, place)
	return err == nil && slices.Contains(strings.Split(rel, "/"), ".git")
}

// maxLinks bounds the symbolic links on a path, as kernels do.
const maxLinks = 40

// Real returns path with its symbolic links resolved, even if its end does not exist yet:
// a link to a missing file resolves to that file.
func Real(path string) string {
	done, rest := "/", parts(path)
	for links := 0; len(rest) > 0; {
		next := filepath.Join(done, rest[0])
		target, err := os.Readlink(next)
		if err != nil || rest[0] == ".." {
			done, rest = next, rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return "/" // a loop of links
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(parts(target), rest[1:]...)
	}
	return done
}

// parts returns the names in a path.
func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(part string) bool { return part == "" || part == "." })
}

// downTo lists the folders from top to dir, inclusive.
func downTo(top, dir string) []string {
	var dirs []string
	for ; ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == top || dir == filepath.Dir(dir) {
			slices.Reverse(dirs)
			return dirs
		}
	}
}
