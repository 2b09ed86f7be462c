package configs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/settings"
)

// path resolves a path of the spec and reports a file that does not exist. It always
// returns an absolute path.
func (r *resolver) path(v yaml.Value[string], what string) string {
	if v.V == "" {
		return ""
	}
	path := r.absolute(v.V)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		r.reportMissing(v, what, path, err)
	case info.IsDir():
		r.Fail(v.At.At, "the %s %s is a folder; name a file", what, yaml.Quote(v.V))
	case !info.Mode().IsRegular():
		r.Fail(v.At.At, "the %s %s is not a regular file; name one that is", what, yaml.Quote(v.V))
	default:
		if err := readable(path); err != nil {
			r.Fail(v.At.At, "the %s %s cannot be read (%s); change its permissions", what, yaml.Quote(v.V), notation.Cause(err))
		}
	}
	return path
}

// readable reports why a file cannot be opened for reading. It opens the file, because
// permission bits alone do not decide.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// absolute resolves relative paths against the spec's folder.
func (r *resolver) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.dir, path)
}

// reportMissing reports a path that cannot be used.
func (r *resolver) reportMissing(v yaml.Value[string], what, path string, err error) {
	if strings.HasPrefix(v.V, "~") {
		r.Fail(v.At.At, "the %s %s is not there; ~ has no meaning in a spec, so write the path out",
			what, yaml.Quote(v.V))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.Fail(v.At.At, "the %s %s is not there (looked for %s); create it, or correct the path",
			what, yaml.Quote(v.V), path)
		return
	}
	r.Fail(v.At.At, "the %s %s cannot be used (%s); correct the path", what, yaml.Quote(v.V), notation.Cause(err))
}

// workspaceDir resolves the team's workspace, and keeps it for resolving programs if it can
// be used.
func (r *resolver) workspaceDir(v yaml.Value[string]) string {
	if !v.Given() {
		// A mistake about a folder that the spec does not name has no position of its own.
		v = yaml.Value[string]{V: ".", At: r.Root}
	}
	dir, usable := r.existingFolder(v, "workspace")
	if usable {
		r.workspace = dir
		if err := r.writable(dir); err != nil {
			r.Fail(v.At.At, "the workspace %s cannot be written to (%s); change its permissions, "+
				"or name another folder", yaml.Quote(v.V), notation.Cause(err))
		}
	}
	return dir
}

// existingFolder resolves a folder of the spec. usable is false if it has reported a
// mistake.
func (r *resolver) existingFolder(v yaml.Value[string], what string) (dir string, usable bool) {
	if v.V == "" {
		return "", false
	}
	dir = r.absolute(v.V)
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		r.reportMissing(v, what, dir, err)
	case !info.IsDir():
		r.Fail(v.At.At, "the %s %s is a file; name a folder", what, yaml.Quote(v.V))
	default:
		return dir, true
	}
	return dir, false
}

// reportRefused reports warnings that keep a file of hooks from being used.
func (r *resolver) reportRefused(v yaml.Value[string], warnings []error) {
	for _, err := range settings.Refused(warnings) {
		r.Fail(v.At.At, "%v", err)
	}
}

// trimPackage returns an error's text without the prefix of package hooks.
func trimPackage(err error) string {
	return strings.TrimPrefix(err.Error(), "hooks: ")
}
