package tools

import (
	"context"
	"errors"
	"io/fs"

	"github.com/coveyteam/covey/teammate/workspace"
)

// ErrTime says that there was no time to look at all files.
var ErrTime = errors.New("it takes too long to look at all files")

// Files calls visit with each file and symbolic link below dir that Glob would find
// there, in order: none that a .gitignore file ignores, none in a .git, and nothing behind
// a link; folders that cannot be read are left out. Paths are below dir, with slashes. An
// error of visit ends it and is returned; ErrTime comes after all that was found in time.
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

// Lingers reports whether something that a command has started still runs: in the
// background, or left behind. It may be called from any goroutine.
func (t *Set) Lingers() bool {
	if len(t.Background()) > 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	return len(t.strays) > 0
}
