package owned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// ErrTooLarge says that a ground has too many files to be looked at, with the way out.
var ErrTooLarge = errors.New("too many files")

// maxFiles is how many files are looked at one by one: those that differ from a commit,
// or, without a repository, all.
const maxFiles = 20_000

// maxGuarded is how many files are looked at in the folders that are named besides.
const maxGuarded = 2_000

// Ground is a folder that members write in. Fields are set before it is used and not
// changed; Dir and Walk are required. It is safe for concurrent use.
type Ground struct {
	Dir   string         // absolute, without links
	Repo  *worktree.Repo // seen from Dir; nil: Dir lies in none
	Index string         // absolute path of a file of the ground's own, outside of Dir
	// Walk calls visit with each file below Dir, with slashes, that nobody has
	// told to ignore; .git and what links lead to are left out.
	Walk func(ctx context.Context, visit func(path string) error) error
	// Except is a folder below Dir, with slashes, that is not looked at; empty: none.
	Except string

	taking sync.Mutex // the index has one user at a time
}

// Snapshot is how a ground stood at one moment.
type Snapshot struct {
	Time time.Time `json:"time"`
	// Base is the commit that Files are held against; empty: none.
	Base string `json:"base,omitempty"`
	// Files are the prints of all files, or, with a repository, of those that are not
	// as Base has them; by path below the ground, with slashes.
	Files map[string]Print `json:"files,omitempty"`
	// Guarded are the prints of files in folders that Globs name, ignored ones too.
	Guarded map[string]Print `json:"guarded,omitempty"`
	Globs   []string         `json:"globs,omitempty"`
}

// Head is the commit that the ground's files are on; empty: none.
func (g *Ground) Head(ctx context.Context) (string, error) {
	if g.Repo == nil {
		return "", nil
	}
	head, err := g.Repo.Head(ctx)
	if err != nil {
		return "", fmt.Errorf("which commit the workspace is on: %w", err)
	}
	return head.Commit, nil
}

// Take notes how the ground stands, held against last.Base. What last knows of files
// that nobody has touched since is not read again. globs name what counts though it
// is ignored, or lies in .git: only where they begin with a folder or name a place
// exactly, or all ignored files would have to be looked at. The error wraps ErrTooLarge
// if the ground has too many files.
func (g *Ground) Take(ctx context.Context, last Snapshot, globs []string) (Snapshot, error) {
	g.taking.Lock()
	defer g.taking.Unlock()
	s := Snapshot{Time: time.Now().Round(0), Base: last.Base, Files: map[string]Print{}, Globs: globs}
	paths, err := g.paths(ctx, last.Base)
	if err != nil {
		return s, err
	}
	for _, path := range paths {
		s.Files[path] = printOf(g.at(path), last.Files[path])
	}
	s.Guarded = g.guarded(globs, last.Guarded)
	return s, ctx.Err()
}

// at is where a path below the ground is.
func (g *Ground) at(path string) string { return filepath.Join(g.Dir, filepath.FromSlash(path)) }

// paths are the files to be looked at.
func (g *Ground) paths(ctx context.Context, base string) ([]string, error) {
	var paths []string
	if g.Repo != nil {
		var err error
		if paths, err = g.Repo.Differing(ctx, g.Index, base); err != nil {
			return nil, fmt.Errorf("look at what was written: %w", err)
		}
		paths = slices.DeleteFunc(paths, g.excepted)
		if len(paths) > maxFiles {
			return nil, fmt.Errorf("%w: more than %d in %s are neither committed nor ignored; commit them or have .gitignore "+
				"name them", ErrTooLarge, maxFiles, g.Dir)
		}
		return paths, nil
	}
	err := g.Walk(ctx, func(path string) error {
		if g.excepted(path) {
			return nil
		}
		if len(paths) == maxFiles {
			return fmt.Errorf("%w: %s has more than %d and is no git repository; `git init` and a first commit, or a "+
				".gitignore file, help", ErrTooLarge, g.Dir, maxFiles)
		}
		paths = append(paths, path)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at what was written: %w", err)
	}
	return paths, nil
}

// excepted reports whether a path is not looked at.
func (g *Ground) excepted(path string) bool {
	return g.Except != "" && (path == g.Except || strings.HasPrefix(path, g.Except+"/"))
}

// guarded takes the prints of what globs name, as far as one need not look everywhere.
func (g *Ground) guarded(globs []string, last map[string]Print) map[string]Print {
	found := map[string]Print{}
	note := func(path string, d fs.DirEntry) error {
		if len(found) == maxGuarded {
			return fs.SkipAll
		}
		if !d.IsDir() {
			found[path] = printOf(g.at(path), last[path])
		}
		return nil
	}
	for _, glob := range globs {
		base, rest := doublestar.SplitPattern(glob)
		if base == "." && strings.Contains(rest, "**") {
			continue // it names a kind of file, wherever it lies
		}
		// What cannot be read is not there: a glob names what may come.
		_ = doublestar.GlobWalk(os.DirFS(g.Dir), glob, func(path string, d fs.DirEntry) error {
			if !d.IsDir() || strings.HasSuffix(glob, "*") {
				return note(path, d)
			}
			return fs.WalkDir(os.DirFS(g.Dir), path, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return nil
				}
				return note(path, d)
			})
		}, doublestar.WithNoFollow())
	}
	return found
}

// find is the print of a path; listed says that the snapshot has one, so that the path is
// not simply as Base has it, or nothing.
func (s Snapshot) find(path string) (p Print, listed bool) {
	if p, listed = s.Files[path]; !listed {
		p, listed = s.Guarded[path]
	}
	return p, listed
}

// State is what a snapshot knows of one path.
type State struct {
	Print  Print `json:"print,omitzero"`
	Listed bool  `json:"listed,omitempty"` // false: it is as the snapshot's Base has it
}

// Of is the state of a path.
func (s Snapshot) Of(path string) State {
	p, listed := s.find(path)
	return State{p, listed}
}

// Same reports whether nothing was written between two states of one path, of snapshots
// with the same Base.
func (s State) Same(o State) bool { return s.Listed == o.Listed && s.Print.Same(o.Print) }

// Since lists the paths that were written to between two snapshots with the same Base, in
// order. A rename is a write of both its names.
func (s Snapshot) Since(earlier Snapshot) []string {
	paths := map[string]bool{}
	add := func(m map[string]Print) {
		for path := range m {
			paths[path] = true
		}
	}
	add(s.Files)
	add(earlier.Files)
	// What other globs name is not new because they name it.
	if slices.Equal(s.Globs, earlier.Globs) {
		add(s.Guarded)
		add(earlier.Guarded)
	}
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(paths), cmp.Compare[string]), func(path string) bool {
		return s.Of(path).Same(earlier.Of(path))
	})
}

// When is the moment at which a path was written to last, if that was after since; else
// of what in the ground may tell of it.
func (g *Ground) When(path string, since time.Time) time.Time {
	return writtenAt(g.Dir, filepath.FromSlash(path), printOf(g.at(path), Print{}), since)
}

// PrintOf takes the print of one path below the ground.
func (g *Ground) PrintOf(path string) Print { return printOf(g.at(path), Print{}) }
