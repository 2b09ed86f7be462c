package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// searchTime limits one Glob or Grep; the result is what was found by then. A search from /
// would take a whole turn otherwise.
const searchTime = 20 * time.Second

// errSearchEnd ends a walk that has found enough.
var errSearchEnd = errors.New("enough")

// search is a walk over the files below a directory. It follows no symbolic links, skips
// .git, and omits what .gitignore files ignore, whether or not the directory is part of a
// git repository.
type search struct {
	root *os.Root
	base string // absolute path of root
	// top is the slash path of root below the place where ignore rules begin: the git work
	// tree, or the workspace. It is "." for that place itself.
	top string
	// rules are the rules of the folders above root.
	rules *workspace.Ignore
	// visit is called for each regular file and symbolic link with its slash path below
	// root. Its error ends the walk.
	visit func(name string, d fs.DirEntry) error

	skipped int  // folders that could not be read
	unread  int  // files that could not be read to the end
	timeout bool // searchTime has passed
	// withheld counts the files that a rule hides from the member.
	withheld int
}

// openSearch prepares a search of the directory or file name. For a file, only is its name
// below the root.
func (p paths) openSearch(name string) (s *search, only string, err error) {
	spot, err := p.spot(name)
	if err != nil {
		return nil, "", err
	}
	defer spot.close()
	info, err := spot.root.Stat(spot.name)
	if err != nil {
		return nil, "", err
	}
	base, real := spot.path, spot.real
	if !info.IsDir() {
		only = filepath.Base(base)
		base, real = filepath.Dir(base), filepath.Dir(real)
	}
	s = &search{base: base}
	if s.root, err = openDir(real); err != nil {
		return nil, "", err
	}
	s.outerRules(p)
	return s, only, nil
}

// close closes the directory.
func (s *search) close() { _ = s.root.Close() }

// outerRules reads the ignore files of the folders above the root, up to where rules begin,
// and the exclude file of the repository.
func (s *search) outerRules(p paths) {
	s.top = "."
	begin := repository(filepath.ToSlash(s.base))
	if begin == "" {
		if _, ok := below(p.wd.Root(), s.base); ok {
			begin = p.wd.Root()
		} else {
			begin = s.base
		}
	}
	rel, ok := below(begin, s.base)
	if !ok {
		return
	}
	s.top = filepath.ToSlash(rel)
	file := func(name ...string) func() ([]byte, error) {
		return func() ([]byte, error) {
			return texts.ReadStart(filepath.Join(append([]string{begin}, name...)...), workspace.MaxIgnore+1)
		}
	}
	s.rules = workspace.ReadIgnore(nil, ".", file(".git", "info", "exclude"))
	if s.top == "." {
		return
	}
	dir := "."
	for part := range strings.SplitSeq(s.top, "/") {
		s.rules = workspace.ReadIgnore(s.rules, dir, file(filepath.FromSlash(dir), ".gitignore"))
		dir = path.Join(dir, part)
	}
}

// run walks until visit ends it, ctx ends, or searchTime has passed.
func (s *search) run(ctx context.Context) error {
	timed, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	err := s.folder(timed, ".", s.rules)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		s.timeout = true
		return nil
	}
	if errors.Is(err, errSearchEnd) {
		return nil
	}
	return err
}

// folder walks one folder and everything below it, in order of names.
func (s *search) folder(ctx context.Context, dir string, rules *workspace.Ignore) error {
	entries, err := s.entries(dir)
	if err != nil {
		if dir == "." {
			return cause(err)
		}
		s.skipped++
		return nil
	}
	// Rules are relative to the folder of their file.
	here := path.Join(s.top, dir)
	rules = workspace.ReadIgnore(rules, here, func() ([]byte, error) {
		return texts.ReadFrom(s.root, path.Join(dir, ".gitignore"), workspace.MaxIgnore+1)
	})
	for _, d := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.entry(ctx, path.Join(dir, d.Name()), d, rules); err != nil {
			return err
		}
	}
	return nil
}

// entry handles one entry of a folder.
func (s *search) entry(ctx context.Context, name string, d fs.DirEntry, rules *workspace.Ignore) error {
	switch {
	case d.Name() == ".git" || rules.Ignores(path.Join(s.top, name), d.IsDir()):
		return nil
	case d.IsDir():
		if s.isVirtual(name) {
			return nil
		}
		return s.folder(ctx, name, rules)
	case d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0:
		return s.visit(name, d)
	}
	return nil
}

// isVirtual reports whether a folder is a virtual file system, whose files may be endless or
// block a reader.
func (s *search) isVirtual(name string) bool {
	return slices.Contains([]string{"/proc", "/sys", "/dev"}, path.Join(filepath.ToSlash(s.base), name))
}

// entries lists one folder, in order of names.
func (s *search) entries(dir string) ([]fs.DirEntry, error) {
	f, err := s.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// notes describes what a search could not read; it is empty if it read everything. Without
// it a model would take "no matches" for proof.
func (s *search) notes() string {
	var notes string
	if s.timeout {
		notes += fmt.Sprintf("\n(stopped after %v; name a folder or a narrower pattern to see the rest)",
			searchTime)
	}
	if s.skipped > 0 {
		notes += fmt.Sprintf("\n(%d folders could not be read)", s.skipped)
	}
	if s.unread > 0 {
		notes += fmt.Sprintf("\n(%d files could not be read)", s.unread)
	}
	switch {
	case s.withheld == 1:
		notes += "\n(1 file was left out: a permission rule denies reading it)"
	case s.withheld > 1:
		notes += fmt.Sprintf("\n(%d files were left out: a permission rule denies reading them)", s.withheld)
	}
	return notes
}

// found is a file that a search has found.
type found struct {
	path string // absolute
	time time.Time
}

// newest sorts files by time, newest first, and then by name.
func newest(files []found) {
	slices.SortStableFunc(files, func(a, b found) int {
		if c := b.time.Compare(a.time); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
}

// searchFailure returns the result of a search that could not begin.
func (t *Set) searchFailure(tool, name string, err error) agent.ToolResult {
	return agent.Failed("%s", tool+": "+t.paths.explain(name, err))
}

// repository returns the root of the git work tree that dir lies in, or "".
func repository(dir string) string {
	for {
		if _, err := os.Lstat(dir + "/.git"); err == nil {
			return dir
		}
		up := path.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
