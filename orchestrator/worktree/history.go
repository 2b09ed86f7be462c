package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Logged is a commit with what its author and committer say.
type Logged struct {
	ID        string
	Author    Person
	Committer Person
	Subject   string
}

// Log lists the commits that rev contains and none of without does, newest first. Commits of
// without that are gone are ignored.
func (r *Repo) Log(ctx context.Context, rev string, without ...string) ([]Logged, error) {
	args := []string{"rev-list", "--ignore-missing", "--no-commit-header", "--format=%H%x1f%an%x1f%ae%x1f%cn%x1f%ce%x1f%s", rev}
	for _, w := range without {
		if w != "" {
			args = append(args, "^"+w)
		}
	}
	out, err := r.plain(ctx, append(args, "--")...)
	if err != nil {
		return nil, fmt.Errorf("list the commits of %s: %w", rev, err)
	}
	var list []Logged
	for text := range strings.Lines(string(out)) {
		if f := strings.SplitN(strings.TrimSuffix(text, "\n"), "\x1f", 6); len(f) == 6 {
			list = append(list, Logged{ID: f[0], Author: Person{f[1], f[2]}, Committer: Person{f[3], f[4]}, Subject: f[5]})
		}
	}
	return list, nil
}

// HeadLog returns the commits in the log of the working copy's head: true for those that were made
// there, false for those that only came there, by a checkout, a reset or a fast-forward. git may
// have dropped old entries of the log.
func (r *Repo) HeadLog(ctx context.Context) (map[string]bool, error) {
	out, err := r.plain(ctx, "log", "--walk-reflogs", "--no-show-signature", "--format=%H%x1f%gs", "HEAD", "--")
	var f *Failure
	if err != nil && !(errors.As(err, &f) && f.Code > 0) { // a branch without a commit has no log
		return nil, fmt.Errorf("read what was done in %s: %w", r.Top, err)
	}
	known := map[string]bool{}
	for text := range strings.Lines(string(out)) {
		id, action, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "\x1f")
		known[id] = known[id] || !comes(action)
	}
	return known, nil
}

// comes reports whether an entry in the log of a head is about a commit that existed before.
func comes(action string) bool {
	what, _, _ := strings.Cut(action, ":")
	switch word, _, _ := strings.Cut(what, " "); word {
	case "", "checkout", "reset", "clone", "branch", "Branch":
		return true
	case "merge", "pull":
		return strings.HasSuffix(action, ": Fast-forward") || strings.HasSuffix(what, "(start)") || strings.HasSuffix(what, "(finish)")
	case "rebase":
		return strings.HasSuffix(what, "(start)") || strings.HasSuffix(what, "(finish)") || strings.HasSuffix(what, "(abort)")
	}
	return false
}

// Retreat moves the working copy, and the branch that it is on, back to a commit. Uncommitted
// changes stay; if they are in the way, nothing changes and the error is an *Obstacle.
func (r *Repo) Retreat(ctx context.Context, commit string) error {
	r, err := r.operationTo(ctx, commit)
	if err != nil {
		return err
	}
	_, err = r.run(ctx, "reset", "--quiet", "--keep", commit)
	var f *Failure
	if errors.As(err, &f) && f.Code > 0 {
		return &Obstacle{Dir: r.Top, Files: inTheWay(f.Stderr), Said: f.Stderr}
	}
	return err
}
