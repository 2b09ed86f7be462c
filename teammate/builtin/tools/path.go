package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/teammate/workspace"
)

// paths tells which file a tool input means.
type paths struct{ wd *workspace.Workdir }

// absolute is name as an absolute path without "..". Symbolic links count for
// nothing here, so `link/../x` is x beside the link.
func (p paths) absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(p.wd.Dir(), name)
}

// canonical is the one form of a path: absolute, and without symbolic links
// save for those in the workspace's own path. Rules and hooks that look at
// this form see where a read or write really goes.
func (p paths) canonical(name string) string {
	path := resolve(p.absolute(name))
	if rel, ok := below(resolve(p.wd.Root()), path); ok {
		return filepath.Join(p.wd.Root(), rel)
	}
	return path
}

// resolve follows the symbolic links of as much of path as exists.
func resolve(path string) string {
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// below returns path relative to dir, if it is dir or lies in it.
func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// spot is a place for a file: a directory that is held open, and the file's
// path below it. Whatever becomes of symbolic links meanwhile, what is done
// through root stays below that directory.
type spot struct {
	path string // absolute, for people and hooks
	root *os.Root
	name string
}

func (s spot) close() { _ = s.root.Close() }

// spot finds the place that name means. It refuses paths that go through a
// symbolic link: rules and hooks have seen the path that was named, and not
// where it leads. A host that calls Normalize never meets this.
func (p paths) spot(name string) (spot, error) {
	path := p.absolute(name)
	if real := p.canonical(path); real != path {
		return spot{},
			fmt.Errorf("%s leads through a symbolic link to %s; name that path instead", path, real)
	}
	// Outside of the workspace the nearest folder that is there is held. Nobody
	// else's rules are about what lies between it and the file.
	dir, rel := p.wd.Root(), ""
	if in, ok := below(dir, path); ok {
		rel = in
	} else {
		dir = existing(filepath.Dir(path))
		rel, _ = below(dir, path)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return spot{}, err
	}
	return spot{path, root, rel}, nil
}

// existing is the nearest directory at or above dir that is there.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// cause is err without the operation and path that an error of package os
// begins with, for messages that name the path themselves.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// shown is path as results name it: relative to where the member is, if it lies there.
func (p paths) shown(path string) string {
	if rel, ok := below(p.wd.Dir(), path); ok {
		return rel
	}
	return path
}
