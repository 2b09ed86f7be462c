package worktree

import (
	"context"
	"fmt"
	"strings"
)

// Logged is a commit with what its author and committer say.
type Logged struct {
	ID        string `json:"id"`
	Author    Person `json:"author"`
	Committer Person `json:"committer"`
	Subject   string `json:"subject"`
}

// Log lists the commits that rev contains and none of without does, newest first. Commits of
// without that are gone are ignored. without may have options of git rev-list, such as --remotes.
func (r *Repo) Log(ctx context.Context, rev string, without ...string) ([]Logged, error) {
	args := []string{"rev-list", "--ignore-missing", "--no-commit-header", "--format=%H%x1f%an%x1f%ae%x1f%cn%x1f%ce%x1f%s", rev, "--not"}
	for _, w := range without {
		if w != "" {
			args = append(args, w)
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

// Merged returns those of commits that tip contains. Commits that are not in the repository are not among them.
func (r *Repo) Merged(ctx context.Context, tip string, commits []string) (map[string]bool, error) {
	read := func(stdin string, args ...string) ([]string, error) {
		out, err := r.git.run(ctx, call{args: args, dir: r.Top, stdin: []byte(stdin)})
		return strings.Split(strings.TrimSpace(string(out)), "\n"), err
	}
	here, err := read(strings.Join(commits, "\n")+"\n", "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	merged, asks := map[string]bool{}, "^"+tip+"\n"
	for _, id := range here {
		if id != "" && !strings.HasSuffix(id, " missing") {
			merged[id] = true
			asks += id + "\n"
		}
	}
	without, err := read(asks, "rev-list", "--stdin")
	for _, id := range without {
		delete(merged, id)
	}
	return merged, err
}

// Headed is an entry in the log of a working copy's head.
type Headed struct {
	ID   string
	By   string // the address of whom git took for the user
	Made bool   // the commit was made there; else it came, by a checkout, a reset or a fast-forward
	// Moved means that a command other than a checkout moved the branch; git update-ref gives no reason.
	Moved bool
}

// HeadLog returns the log of the working copy's head, newest first. git may have dropped old entries.
func (r *Repo) HeadLog(ctx context.Context) ([]Headed, error) {
	out, err := r.plain(ctx, "log", "--walk-reflogs", "--no-show-signature", "--format=%H%x1f%ge%x1f%gs", "HEAD", "--")
	if err != nil && exitCode(err) == 0 { // a branch without a commit has no log
		return nil, fmt.Errorf("read what was done in %s: %w", r.Top, err)
	}
	var list []Headed
	for text := range strings.Lines(string(out)) {
		if e := strings.SplitN(strings.TrimSuffix(text, "\n"), "\x1f", 3); len(e) == 3 {
			list = append(list, Headed{ID: e[0], By: e[1], Made: !comes(e[2]), Moved: e[2] != "" && !strings.HasPrefix(e[2], "checkout:")})
		}
	}
	return list, nil
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
	if exitCode(err) > 0 {
		return r.obstacle(err)
	}
	return err
}
