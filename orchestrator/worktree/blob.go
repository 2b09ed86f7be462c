package worktree

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// AddBlob writes data as an object that a new reference names, and returns its id. The error wraps ErrMoved
// if there is such a reference.
func (r *Repo) AddBlob(ctx context.Context, ref string, data []byte, why string) (id string, err error) {
	out, err := r.git.run(ctx, call{args: []string{"hash-object", "-w", "--stdin"}, dir: r.Top, stdin: data})
	if err != nil {
		return "", err
	}
	id = line(out)
	return id, r.Move(ctx, ref, Step{To: id, Why: why})
}

// Blobs returns the data of the objects that the references below a path name, by the rest of their names.
func (r *Repo) Blobs(ctx context.Context, below string) (map[string][]byte, error) {
	out, err := r.plain(ctx, "for-each-ref", "--format=%(refname)%00%(raw:size)%00%(raw)", below)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for len(out) > 0 {
		parts := bytes.SplitN(out, []byte{0}, 3)
		if len(parts) < 3 {
			return nil, fmt.Errorf("read what is below %s: git printed something else", below)
		}
		size, err := strconv.Atoi(string(parts[1]))
		if err != nil || size < 0 || size >= len(parts[2]) { // a line break follows
			return nil, fmt.Errorf("read what is below %s: git printed something else", below)
		}
		all[strings.TrimPrefix(string(parts[0]), below)], out = parts[2][:size], parts[2][size+1:]
	}
	return all, nil
}

// Recorded is what a commit object says, besides its author.
type Recorded struct {
	Commit, Tree string
	Parents      []string
	Message      string
}

// Record returns what a commit object says. The error wraps ErrNoRef if there is no such commit.
func (r *Repo) Record(ctx context.Context, rev string) (Recorded, error) {
	commit, err := r.Commit(ctx, rev)
	if err != nil {
		return Recorded{}, err
	}
	out, err := r.plain(ctx, "cat-file", "commit", commit)
	if err != nil {
		return Recorded{}, fmt.Errorf("read a commit: %w", err)
	}
	head, message, _ := strings.Cut(string(out), "\n\n")
	c := Recorded{Commit: commit, Message: message}
	for text := range strings.Lines(head) {
		switch key, id, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " "); key {
		case "tree":
			c.Tree = id
		case "parent":
			c.Parents = append(c.Parents, id)
		}
	}
	return c, nil
}

// Line returns the commits of a branch, newest first: of a merge, those of its first parent. It reads them from the
// commits themselves, so that Intact can check what it has read.
func (r *Repo) Line(ctx context.Context, commit string) ([]string, error) {
	out, err := r.plain(ctx, "-c", "core.commitGraph=false", "rev-list", "--first-parent", commit)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}
