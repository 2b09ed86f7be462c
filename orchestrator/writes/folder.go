package writes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// ErrTooLarge reports that a folder has too many files to be read. Its wrappers say
// what to do.
var ErrTooLarge = errors.New("too many files")

// maxFiles bounds the files that are read one by one: those that differ from a commit,
// or all files without a repository.
const maxFiles = 20_000

// Folder is a folder that members write in. Set its fields before first use and do not
// change them; Dir and Walk are required. It is safe for concurrent use.
type Folder struct {
	Dir   string         // absolute, without symlinks
	Repo  *worktree.Repo // seen from Dir; nil: Dir is in no repository
	Index string         // absolute path of an index file for this folder alone, outside of Dir
	// Walk calls visit with the slash-separated path of each file below Dir that is not
	// ignored, except .git and the targets of links.
	Walk func(ctx context.Context, visit func(path string) error) error
	// Except is a slash-separated folder below Dir that is skipped; empty: none.
	Except string

	taking sync.Mutex // guards the index
}

// Snapshot is the state of a folder at one moment.
type Snapshot struct {
	Time time.Time `json:"time"`
	// Base is the commit that Files are compared with; empty: none.
	Base string `json:"base,omitempty"`
	// Files are the prints of all files or, in a repository, of those that differ from
	// Base, by slash-separated path below the folder.
	Files map[string]Print `json:"files,omitempty"`
}

// Head returns the commit that is checked out in the folder; empty: none.
func (g *Folder) Head(ctx context.Context) (string, error) {
	if g.Repo == nil {
		return "", nil
	}
	head, err := g.Repo.Head(ctx)
	if err != nil {
		return "", fmt.Errorf("read the commit of the workspace: %w", err)
	}
	return head.Commit, nil
}

// Take records the state of the folder, compared with last.Base. Files that were not
// touched since last are not read again. The error wraps ErrTooLarge if the folder has too
// many files.
func (g *Folder) Take(ctx context.Context, last Snapshot) (Snapshot, error) {
	g.taking.Lock()
	defer g.taking.Unlock()
	s := Snapshot{Time: time.Now().Round(0), Base: last.Base, Files: map[string]Print{}}
	paths, err := g.paths(ctx, last.Base)
	if err != nil {
		return s, err
	}
	for _, path := range paths {
		s.Files[path] = printOf(g.at(path), last.Files[path])
	}
	return s, ctx.Err()
}

// at returns the absolute path of a path below the folder.
func (g *Folder) at(path string) string { return filepath.Join(g.Dir, filepath.FromSlash(path)) }

// paths returns the files to read.
func (g *Folder) paths(ctx context.Context, base string) ([]string, error) {
	var paths []string
	if g.Repo != nil {
		var err error
		if paths, err = g.Repo.Differing(ctx, g.Index, base); err != nil {
			return nil, fmt.Errorf("list the written files: %w", err)
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
		return nil, fmt.Errorf("list the written files: %w", err)
	}
	return paths, nil
}

// excepted reports whether a path is skipped.
func (g *Folder) excepted(path string) bool {
	return g.Except != "" && (path == g.Except || strings.HasPrefix(path, g.Except+"/"))
}

// State is the state of one path in a snapshot.
type State struct {
	Print  Print `json:"print,omitzero"`
	Listed bool  `json:"listed,omitempty"` // false: the path is as in the snapshot's Base
}

// Of returns the state of a path.
func (s Snapshot) Of(path string) State {
	p, listed := s.Files[path]
	return State{p, listed}
}

// Same reports whether nothing was written between two states of one path, from
// snapshots with the same Base.
func (s State) Same(o State) bool { return s.Listed == o.Listed && s.Print.Same(o.Print) }

// Since lists the paths that were written between two snapshots with the same Base, in
// order. A rename is a write of both names.
func (s Snapshot) Since(earlier Snapshot) []string {
	paths := maps.Collect(maps.All(s.Files))
	maps.Copy(paths, earlier.Files)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(paths)), func(path string) bool {
		return s.Of(path).Same(earlier.Of(path))
	})
}
