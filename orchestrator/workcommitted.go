package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/written"
)

// workCommitted refuses while git does not have what the member has changed. What stood
// there uncommitted before, and what others write in the same folder, is not its business.
func (c *crew) workCommitted(ctx context.Context, in hooks.Input) hooks.Result {
	s, ok := c.seat(c.memberOf(in))
	if !ok {
		return agree() // the work of nobody
	}
	if c.writes == nil {
		return broken(errors.New("what a member has changed is known only while its team runs"))
	}
	repo, err := c.git().Open(ctx, in.Cwd)
	if err != nil {
		return broken(err)
	}
	files, err := c.writes.changes.of(ctx, s)
	if errors.Is(err, written.ErrTooLarge) { // it holds up nobody, as with owns
		c.writes.changes.warn(ctx, s, err)
		return agree()
	}
	if err != nil {
		return broken(err)
	}
	if len(files) == 0 {
		return agree()
	}
	root, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return broken(err)
	}
	status, err := repo.Dirty(ctx)
	if err != nil {
		return broken(err)
	}
	open := dirtyOf(status, repo.Top, root, files)
	if len(open) == 0 {
		return agree()
	}
	const shown = 50 // a model has no use for more
	text := strings.Join(open[:min(len(open), shown)], "\n")
	if more := len(open) - shown; more > 0 {
		text += fmt.Sprintf("\n… and %d more", more)
	}
	return refuse("There are changes of yours that are not committed:\n%s\nCommit what belongs to your task, or take it back. "+
		"What else `git status` shows is not yours: leave it as it is.", text)
}

// dirtyOf are the lines of git's status, in the form of Repo.Dirty, for those of some files
// that it shows. The repository's files are below top, the given ones below root. A new
// folder is one line of the status, and a line for each file here, because others may have
// files in it.
func dirtyOf(status []string, top, root string, files []string) []string {
	codes := map[string]string{}
	for _, line := range status {
		if len(line) > 3 { // two letters, a space, the path
			codes[filepath.Join(top, filepath.FromSlash(line[3:]))] = line[:2]
		}
	}
	var list []string
	for _, file := range files {
		path := filepath.Join(root, filepath.FromSlash(file)) // of a repository in this one without its slash
		for at := path; len(at) > len(top); at = filepath.Dir(at) {
			if code, ok := codes[at]; ok {
				rel, err := filepath.Rel(top, path)
				if err == nil {
					list = append(list, code+" "+filepath.ToSlash(rel))
				}
				break
			}
		}
	}
	return list
}
