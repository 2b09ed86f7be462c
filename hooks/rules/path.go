package rules

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pathTools returns the tools whose specifiers are paths.
func pathTools() []string {
	return []string{"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS"}
}

// askPath answers a question about a tool that works on files. For a link, both the named
// file and its target count.
//
// A search (Glob, Grep) is judged by the folder where it starts; ForbidsFile judges the
// files that it finds.
func (r Rule) askPath(c Call, q question) bool {
	target, ok := c.path()
	if !ok {
		return q.doubt()
	}
	pattern, base, ok := r.pathPattern(c)
	if !ok {
		return q.doubt()
	}
	named := pathMatch(pattern, base, target, q)
	meant := pathMatch(pattern, realPath(base), realPath(target), q)
	if q == permitting {
		return named && meant && !c.escapes()
	}
	return named || meant
}

// ForbidsFile reports whether r, in a deny list, hides a file from a search (c, a call of
// Glob or Grep): Read(secret/**) does.
func (r Rule) ForbidsFile(c Call, file string) bool {
	if r.Spec == "" || !r.names(c.Tool) || !slices.Contains(pathTools(), c.Tool) {
		return false
	}
	pattern, base, ok := r.pathPattern(c)
	return !ok || pathMatch(pattern, base, file, forbidding) ||
		pathMatch(pattern, realPath(base), realPath(file), forbidding)
}

// path returns the file or folder that a call is about, as an absolute path. ok is false if
// it is not known.
func (c Call) path() (target string, ok bool) {
	var input struct {
		File     *string `json:"file_path"`
		Notebook *string `json:"notebook_path"`
		Path     *string `json:"path"`
	}
	if json.Unmarshal(c.Input, &input) != nil {
		return "", false
	}
	at := slices.IndexFunc([]*string{input.File, input.Notebook, input.Path},
		func(p *string) bool { return p != nil })
	switch {
	case at >= 0:
		target = *[]*string{input.File, input.Notebook, input.Path}[at]
	case c.Tool != "Glob" && c.Tool != "Grep" && c.Tool != "LS":
		return "", false
	}
	if strings.ContainsRune(target, 0) {
		return "", false
	}
	if !filepath.IsAbs(target) {
		if c.Cwd == "" {
			return "", false
		}
		target = filepath.Join(c.Cwd, target)
	}
	return filepath.Clean(target), true
}

// escapes reports whether a search's pattern leads out of the folder where it starts.
func (c Call) escapes() bool {
	var input struct {
		Pattern string `json:"pattern"`
	}
	if c.Tool != "Glob" || json.Unmarshal(c.Input, &input) != nil {
		return false
	}
	return filepath.IsAbs(input.Pattern) || slices.Contains(strings.Split(filepath.ToSlash(input.Pattern),
		"/"), "..")
}

// pathPattern turns the specifier into a pattern below a folder: //x starts at the root of
// the file system, ~/x at home, /x at the workspace, and x at the working directory, at any
// depth if it has no slash (as in a .gitignore).
func (r Rule) pathPattern(c Call) (pattern, base string, ok bool) {
	spec := r.Spec
	switch {
	case strings.HasPrefix(spec, "//"):
		return spec[2:], string(filepath.Separator), true
	case spec == "~" || strings.HasPrefix(spec, "~/"):
		home, err := os.UserHomeDir()
		return strings.TrimPrefix(spec[1:], "/"), home, err == nil
	case strings.HasPrefix(spec, "/"):
		return spec[1:], c.Root, c.Root != ""
	}
	spec = strings.TrimPrefix(spec, "./")
	if !strings.Contains(strings.TrimSuffix(spec, "/"), "/") {
		spec = "**/" + spec
	}
	return spec, c.Cwd, c.Cwd != ""
}

// pathMatch reports whether target, or a folder that contains it, matches a pattern below
// base.
func pathMatch(pattern, base, target string, q question) bool {
	below, err := filepath.Rel(base, target)
	if err != nil {
		return q == forbidding
	}
	below = filepath.ToSlash(below)
	pattern = path.Clean(strings.TrimSuffix(pattern, "/"))
	if below == ".." || strings.HasPrefix(below, "../") {
		return strings.HasPrefix(pattern, "../") && wildPath(pattern, below, q)
	}
	for {
		if wildPath(pattern, below, q) {
			return true
		}
		if i := strings.LastIndexByte(below, '/'); i > 0 {
			below = below[:i]
			continue
		}
		return pattern == "." || pattern == "**"
	}
}

// wildPath matches one path. On file systems that ignore case, a rule that forbids ignores
// it, too.
func wildPath(pattern, target string, q question) bool {
	if q == forbidding && (runtime.GOOS == "darwin" || runtime.GOOS == "windows") {
		pattern, target = strings.ToLower(pattern), strings.ToLower(target)
	}
	fits, err := doublestar.Match(pattern, target)
	if err != nil { // not a pattern, so its characters are literal
		return pattern == target
	}
	return fits
}

// realPath resolves the links of a path as far as it exists.
func realPath(name string) string {
	rest := ""
	for dir := name; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return name
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = up
	}
}
