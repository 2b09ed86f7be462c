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

// paths resolves the file names in tool inputs.
type paths struct{ wd *workspace.Workdir }

// absolute returns name as an absolute path without "..". It ignores symbolic links, so
// `link/../x` is x in the folder of the link.
func (p paths) absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(p.wd.Dir(), name)
}

// canonical returns the canonical form of a path: absolute, and without symbolic links
// except those in the workspace's own path. Rules and hooks that see this form see where
// a read or write really goes.
func (p paths) canonical(name string) string {
	path := resolve(p.absolute(name))
	if rel, ok := below(resolve(p.wd.Root()), path); ok {
		return filepath.Join(p.wd.Root(), rel)
	}
	return path
}

// resolve follows the symbolic links in the existing part of path.
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

// below returns path relative to dir, if it is dir or inside it.
func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// spot is the location of a file: an open directory, the nearest that exists, and the file's path below it. Access
// through root stays below that directory, even if symbolic links change meanwhile.
type spot struct {
	path string // absolute, for people and hooks
	real string // the same without symbolic links
	root *os.Root
	name string
}

func (s spot) close() { _ = s.root.Close() }

// spot returns the location of name. It refuses paths that go through a symbolic link,
// because rules and hooks have seen the path that was named and not its target. This
// cannot happen with a host that calls Normalize.
func (p paths) spot(name string) (spot, error) {
	path := p.absolute(name)
	if real := p.canonical(path); real != path {
		return spot{},
			fmt.Errorf("%s leads through a symbolic link to %s; name that path instead", path, real)
	}
	real := path
	if rel, ok := below(p.wd.Root(), path); ok {
		real = filepath.Join(resolve(p.wd.Root()), rel)
	}
	dir := existing(filepath.Dir(real))
	root, err := openDir(dir)
	if err != nil {
		return spot{}, err
	}
	rel, _ := below(dir, real)
	return spot{path, real, root, rel}, nil
}

// withFolder returns the spot with the folders above the file, which it makes.
func (s spot) withFolder() (spot, error) {
	dir := filepath.Dir(s.name)
	if dir == "." {
		return s, nil
	}
	if err := s.root.MkdirAll(dir, 0o755); err != nil {
		return s, err
	}
	root, err := openDir(filepath.Dir(s.real))
	if err != nil {
		return s, err
	}
	s.close()
	s.root, s.name = root, filepath.Base(s.real)
	return s, nil
}

// existing returns the nearest existing directory at or above dir.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// cause returns err without the operation and path of an error of package os, for
// messages that name the path themselves.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

// shown returns path as results show it: relative to the member's directory if it is below it.
func (p paths) shown(path string) string {
	if rel, ok := below(p.wd.Dir(), path); ok {
		return rel
	}
	return path
}
