package worktree

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Change is a file that differs between two trees.
type Change struct {
	Path string // below the working copy's first folder, with slashes
	Kind byte   // 'A' added, 'D' deleted, 'M' changed, 'T' changed into a link or back
	Mode string // git's file mode afterwards, as in "100644", "120000" (a link) or "160000" (a submodule)
}

// Changed lists the files that differ between two commits or trees, in order. A
// file that was renamed is one that was deleted and one that was added, so that
// both places are seen.
func (r *Repo) Changed(ctx context.Context, from, to string) ([]Change, error) {
	if from == to {
		return nil, nil
	}
	out, err := r.plain(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", from, to)
	if err != nil {
		return nil, err
	}
	var all []Change
	listed := fields(out) // ":100644 100755 old new M", path, …
	for i := 0; i+1 < len(listed); i += 2 {
		about := strings.Fields(listed[i])
		if len(about) != 5 || about[4] == "" {
			continue
		}
		all = append(all, Change{Path: listed[i+1], Kind: about[4][0], Mode: about[1]})
	}
	return all, nil
}

// DiffOptions say how Diff shows differences. The zero value shows all of them as
// a patch without colours.
type DiffOptions struct {
	Paths []string // below the working copy's first folder; empty: all
	Color bool
	Stat  bool // a line for each file, in place of the patch
}

// Diff is the difference of two commits or trees as text. No driver that the
// repository names shows it.
func (r *Repo) Diff(ctx context.Context, from, to string, opts DiffOptions) ([]byte, error) {
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--find-renames", "--color=never"}
	if opts.Color {
		args[len(args)-1] = "--color=always"
	}
	if opts.Stat {
		args = append(args, "--stat=100")
	}
	args = append(args, from, to, "--")
	return r.run(ctx, append(args, opts.Paths...)...)
}

// Ahead counts the commits that branch has and base has not.
func (r *Repo) Ahead(ctx context.Context, base, branch string) (int, error) {
	out, err := r.plain(ctx, "rev-list", "--count", branch, "^"+base, "--")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(line(out))
}

// Merge is what comes of merging two commits.
type Merge struct {
	Tree      string   // holds marks of conflict where there are Conflicts
	Conflicts []string // files that both have changed differently, in order; empty: none
}

// Merge merges theirs into ours without touching any file or branch.
func (r *Repo) Merge(ctx context.Context, ours, theirs string) (Merge, error) {
	out, err := r.run(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
	var f *Failure
	if err != nil && !(errors.As(err, &f) && f.Code == 1) {
		return Merge{}, err
	}
	said := fields(out)
	if len(said) == 0 {
		return Merge{}, err
	}
	m := Merge{Tree: said[0]}
	for _, path := range said[1:] {
		if path == "" {
			break
		}
		m.Conflicts = append(m.Conflicts, path)
	}
	return m, nil
}

// File is the content of a file in a commit or tree. The error wraps ErrNoRef if it
// is not there.
func (r *Repo) File(ctx context.Context, rev, path string) ([]byte, error) {
	id, err := r.TreeOf(ctx, rev)
	if err != nil {
		return nil, err
	}
	out, err := r.plain(ctx, "cat-file", "blob", id+":"+path)
	var f *Failure
	if errors.As(err, &f) && f.Code > 0 {
		return nil, fmt.Errorf("%w: %s has no file %q", ErrNoRef, rev, path)
	}
	return out, err
}

// Tracked reports whether a commit has anything in a folder below the working
// copy's first one; empty: anything at all.
func (r *Repo) Tracked(ctx context.Context, rev, folder string) (bool, error) {
	args := []string{"ls-tree", "-z", "--name-only", rev, "--"}
	if folder != "" {
		args = append(args, folder+"/")
	}
	out, err := r.git.run(ctx, call{args: args, dir: r.Top})
	return len(out) > 0, err
}

// Ignored tells which of some paths, relative to Dir, git ignores. A path that is
// committed is not ignored, whatever rules say.
func (r *Repo) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	if len(paths) == 0 {
		return ignored, nil
	}
	var list strings.Builder
	for _, path := range paths {
		list.WriteString("./" + path + "\x00") // "./" lets no name begin like a pattern
	}
	out, err := r.git.run(ctx, call{
		args: []string{"check-ignore", "-z", "--stdin"}, dir: r.Dir,
		env:   []string{"GIT_LITERAL_PATHSPECS=0"}, // which this command refuses
		stdin: []byte(list.String()),
	})
	var f *Failure
	if err != nil && !(errors.As(err, &f) && f.Code == 1) { // 1: none
		return nil, err
	}
	for _, path := range fields(out) {
		ignored[strings.TrimPrefix(path, "./")] = true
	}
	return ignored, nil
}

// Size is how many bytes the files of a commit take, written out.
func (r *Repo) Size(ctx context.Context, commit string) (int64, error) {
	out, err := r.git.run(ctx, call{args: []string{"ls-tree", "-r", "-l", "-z", commit}, dir: r.Top})
	var sum int64
	for _, entry := range fields(out) { // "100644 blob <id>    1234\tpath"; a submodule has "-" for its size
		about, _, _ := strings.Cut(entry, "\t")
		if words := strings.Fields(about); len(words) == 4 {
			n, _ := strconv.ParseInt(words[3], 10, 64)
			sum += n
		}
	}
	return sum, err
}
