package tools

import (
	"context"
	"errors"
	"io/fs"

	"github.com/coveyteam/covey/teammate/workspace"
)

// ErrTime is the error of a search that ran out of time.
var ErrTime = errors.New("it takes too long to look at all files")

// Files calls visit for each file and symbolic link below dir that Glob would find, in
// order. It skips files that .gitignore ignores, .git folders, the targets of links, and
// unreadable folders. Paths are relative to dir, with slashes. An error of visit ends the
// search and is returned. ErrTime is returned after visit has seen all files found in time.
func Files(ctx context.Context, dir string, visit func(path string) error) error {
	s, _, err := paths{workspace.NewWorkdir(dir)}.openSearch(dir)
	if err != nil {
		return err
	}
	defer s.close()
	s.visit = func(name string, _ fs.DirEntry) error { return visit(name) }
	if err := s.run(ctx); err != nil {
		return err
	}
	if s.timeout {
		return ErrTime
	}
	return nil
}

// HasBackground reports whether a process that a command has started is still running, in the
// background or left behind. It may be called from any goroutine.
func (t *Set) HasBackground() bool {
	if len(t.Background()) > 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	return len(t.strays) > 0
}
