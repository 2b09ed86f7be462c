package configs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/wording"
)

// path resolves a path of the spec and reports a file that is not there. It
// returns an absolute path in any case.
func (r *resolver) path(v value[string], what string) string {
	if v.v == "" {
		return ""
	}
	path := r.absolute(v.v)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		r.missing(v, what, path, err)
	case info.IsDir():
		r.fail(v.at.At, "the %s %s is a folder; name a file", what, yaml.Quote(v.v))
	case !info.Mode().IsRegular():
		r.fail(v.at.At, "the %s %s is not a regular file; name one that is", what, yaml.Quote(v.v))
	default:
		if err := readable(path); err != nil {
			r.fail(v.at.At, "the %s %s cannot be read (%s); change its permissions", what, yaml.Quote(v.v), wording.Cause(err))
		}
	}
	return path
}

// readable reports why a file cannot be opened for reading. Only opening tells:
// access rights are not all that decides.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// absolute starts relative paths at the spec's folder.
func (r *resolver) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.dir, path)
}

// missing reports a path that leads nowhere.
func (r *resolver) missing(v value[string], what, path string, err error) {
	if strings.HasPrefix(v.v, "~") {
		r.fail(v.at.At, "the %s %s is not there; ~ has no meaning in a spec, so write the path out",
			what, yaml.Quote(v.v))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.fail(v.at.At, "the %s %s is not there (looked for %s); create it, or correct the path",
			what, yaml.Quote(v.v), path)
		return
	}
	r.fail(v.at.At, "the %s %s cannot be used (%s); correct the path", what, yaml.Quote(v.v), wording.Cause(err))
}

// folder resolves the team's workspace, and keeps it for programs if it can be used.
func (r *resolver) folder(v value[string]) string {
	if !v.given() {
		// Mistakes about a folder that the spec does not name have no place of
		// their own.
		v = value[string]{v: ".", at: r.Root}
	}
	if v.v == "" {
		return ""
	}
	dir := r.absolute(v.v)
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		r.missing(v, "workspace", dir, err)
	case !info.IsDir():
		r.fail(v.at.At, "the workspace %s is a file; name a folder", yaml.Quote(v.v))
	default:
		r.workspace = dir
		if err := r.writable(dir); err != nil {
			r.fail(v.at.At, "the workspace %s cannot be written to (%s); change its permissions, "+
				"or name another folder", yaml.Quote(v.v), wording.Cause(err))
		}
	}
	return dir
}

// pluginFolder resolves a plugin's folder and reports one that is not there.
func (r *resolver) pluginFolder(v value[string]) string {
	if v.v == "" {
		return ""
	}
	dir := r.absolute(v.v)
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		r.missing(v, "plugin", dir, err)
	case !info.IsDir():
		r.fail(v.at.At, "the plugin %s is a file; name its folder", yaml.Quote(v.v))
	}
	return dir
}

// refused reports what keeps a file of hooks that the spec names from being used.
func (r *resolver) refused(v value[string], warnings []error) {
	for _, err := range settings.Refused(warnings) {
		r.fail(v.at.At, "%v", err)
	}
}

// sentence makes an error's text one of ours: no package name before it.
func sentence(err error) string {
	return strings.TrimPrefix(err.Error(), "hooks: ")
}
