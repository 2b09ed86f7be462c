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

	"github.com/coveyteam/covey/teammate/agent"
)

// searchTime is how long one Glob or Grep looks; what it has found by then is
// its answer. A search from / would take a whole turn otherwise.
const searchTime = 20 * time.Second

// errSearchEnd ends a walk that has found enough.
var errSearchEnd = errors.New("enough")

// search is a walk over the files below a directory. It follows no symbolic
// links, stays out of .git, and leaves out what .gitignore files ignore, whether
// or not the directory is part of a git repository.
type search struct {
	root *os.Root
	base string // absolute path of root
	// top is root's path, in slashes, below the place where ignore rules begin:
	// the git work tree, or the workspace. "." if it is that place.
	top string
	// rules are those in force at root, from the folders above it.
	rules *ignoreList
	// visit gets each regular file and symbolic link: its path below root, in
	// slashes. An error of its own ends the walk.
	visit func(name string, d fs.DirEntry) error

	skipped int  // folders that could not be read
	unread  int  // files that could not be read to their end
	timeout bool // searchTime was not enough
	// withheld counts the files that a rule keeps from the member.
	withheld int
}

// openSearch prepares a search of the directory or file that name means. For a
// file, only is its name below the root.
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
	base := spot.path
	if !info.IsDir() {
		base, only = filepath.Split(base)
		base = filepath.Clean(base)
	}
	s = &search{base: base}
	if s.root, err = os.OpenRoot(base); err != nil {
		return nil, "", err
	}
	s.outerRules(p)
	return s, only, nil
}

// close lets go of the directory.
func (s *search) close() { _ = s.root.Close() }

// outerRules reads the ignore files of the folders above the root, from where
// rules begin, and the exclude file of the repository.
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
		return func() ([]byte,
			error) {
			return os.ReadFile(filepath.Join(append([]string{begin}, name...)...))
		}
	}
	s.rules = readIgnore(nil, ".", file(".git", "info", "exclude"))
	if s.top == "." {
		return
	}
	dir := "."
	for part := range strings.SplitSeq(s.top, "/") {
		s.rules = readIgnore(s.rules, dir, file(filepath.FromSlash(dir), ".gitignore"))
		dir = path.Join(dir, part)
	}
}

// run walks, until visit ends it, ctx does, or time is up.
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

// folder walks one folder and what is below it, names in order.
func (s *search) folder(ctx context.Context, dir string, rules *ignoreList) error {
	entries, err := s.entries(dir)
	if err != nil {
		if dir == "." {
			return cause(err)
		}
		s.skipped++
		return nil
	}
	// Rules are written from the point of view of the folder that they lie in.
	here := path.Join(s.top, dir)
	rules = readIgnore(rules, here,
		func() ([]byte, error) { return s.root.ReadFile(path.Join(dir, ".gitignore")) })
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

// entry looks at one name in a folder.
func (s *search) entry(ctx context.Context, name string, d fs.DirEntry, rules *ignoreList) error {
	switch {
	case d.Name() == ".git" || rules.ignores(path.Join(s.top, name), d.IsDir()):
		return nil
	case d.IsDir():
		if s.kernel(name) {
			return nil
		}
		return s.folder(ctx, name, rules)
	case d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0:
		return s.visit(name, d)
	}
	return nil
}

// kernel reports whether a folder is not on any disk: files there may be
// without end, or make their reader wait.
func (s *search) kernel(name string) bool {
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

// notes say what a search could not look at; empty if it saw everything. A model
// must not take "no matches" for "not there" then.
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

// found is a file that a search found.
type found struct {
	path string // absolute
	time time.Time
}

// newest puts the files that were changed last first, equals by name.
func newest(files []found) {
	slices.SortStableFunc(files, func(a, b found) int {
		if c := b.time.Compare(a.time); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
}

// noted is what went wrong before a search could begin.
func (t *Set) noted(tool, name string, err error) agent.ToolResult {
	return agent.Failed(tool + ": " + t.paths.explain(name, err))
}
