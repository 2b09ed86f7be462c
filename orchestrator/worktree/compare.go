package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Change is a file that differs between two trees.
type Change struct {
	Path string // slash-separated, relative to the top of the working copy
	Kind byte   // 'A' added, 'D' deleted, 'M' changed, 'T' changed into a link or back
}

// Changed lists the files that differ between two commits or trees, in order. A renamed
// file is listed as deleted and added, so that both paths appear.
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
		all = append(all, Change{Path: listed[i+1], Kind: about[4][0]})
	}
	return all, nil
}

// DiffOptions describes how Diff shows differences. The zero value shows all of them as a
// patch without colors.
type DiffOptions struct {
	Paths []string // relative to the top of the working copy; empty: all
	Color bool
	Stat  bool // one line per file instead of the patch
	Small bool // files of more than 1 MB are differences of binary files
	// First are paths relative to the top of the working copy; the differences of these files come first, in
	// this order.
	First []string
}

// Diff returns the difference of two commits or trees as text. It runs no driver that
// the repository configures.
func (r *Repo) Diff(ctx context.Context, from, to string, opts DiffOptions) ([]byte, error) {
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--find-renames", "--color=never"}
	if opts.Color {
		args[len(args)-1] = "--color=always"
	}
	if opts.Stat {
		args = append(args, "--stat=100")
	}
	if opts.Small {
		args = append([]string{"-c", "core.bigFileThreshold=1m"}, args...)
	}
	if len(opts.First) > 0 {
		order, err := orderOf(opts.First)
		if err != nil {
			return nil, fmt.Errorf("order the differences: %w", err)
		}
		defer os.Remove(order)
		args = append(args, "-O"+order)
	}
	args = append(args, from, to, "--")
	return r.run(ctx, append(args, opts.Paths...)...)
}

// orderOf makes a file for the option -O of git diff, which takes patterns.
func orderOf(paths []string) (string, error) {
	f, err := os.CreateTemp("", "covey-order-")
	if err != nil {
		return "", err
	}
	literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `#`, `\#`)
	_, err = f.WriteString(literal.Replace(strings.Join(paths, "\n")) + "\n")
	return f.Name(), errors.Join(err, f.Close())
}

// Lines counts the lines that the working copy of r adds and removes since its head left the branch of
// the commit base, committed or not. Files that git does not know count for nothing.
func Lines(ctx context.Context, r *Repo, base string) (added, removed int, err error) {
	out, err := r.run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--find-renames", "--shortstat",
		"--merge-base", base, "--")
	said := strings.Fields(string(out)) // 2 files changed, 12 insertions(+), 1 deletion(-)
	for i := 1; i < len(said); i++ {
		n, _ := strconv.Atoi(said[i-1]) // 0 before other words
		switch {
		case strings.HasPrefix(said[i], "insertion"):
			added = n
		case strings.HasPrefix(said[i], "deletion"):
			removed = n
		}
	}
	return added, removed, err
}

// Ahead counts the commits of branch that base does not contain.
func (r *Repo) Ahead(ctx context.Context, base, branch string) (int, error) {
	if base == branch {
		return 0, nil
	}
	out, err := r.plain(ctx, "rev-list", "--count", branch, "^"+base, "--")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(line(out))
}

// Merge is the result of merging two commits.
type Merge struct {
	Tree      string   // contains conflict markers if there are Conflicts
	Conflicts []string // files changed differently by both, in order
}

// Merge merges theirs into ours without changing any file or branch.
func (r *Repo) Merge(ctx context.Context, ours, theirs string) (Merge, error) {
	out, err := r.run(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
	if err != nil && exitCode(err) != 1 {
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

// File returns the content of a file in a commit or tree. The error wraps ErrNoRef if
// it does not exist.
func (r *Repo) File(ctx context.Context, rev, path string) ([]byte, error) {
	id, err := r.TreeOf(ctx, rev)
	if err != nil {
		return nil, err
	}
	out, err := r.plain(ctx, "cat-file", "blob", id+":"+path)
	if exitCode(err) > 0 {
		return nil, fmt.Errorf("%w: %s has no file %q", ErrNoRef, rev, path)
	}
	return out, err
}

// Tracked reports whether a commit contains files in a folder, relative to the top of
// the working copy; empty: any files.
func (r *Repo) Tracked(ctx context.Context, rev, folder string) (bool, error) {
	args := []string{"ls-tree", "-z", "--name-only", rev, "--"}
	if folder != "" {
		args = append(args, folder+"/")
	}
	out, err := r.git.run(ctx, call{args: args, dir: r.Top})
	return len(out) > 0, err
}

// TopOf returns the top of the repository of a folder if its current commit has files in the
// folder, or else the folder: a home that is a repository is not that of all projects in it.
func (g Git) TopOf(ctx context.Context, dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	// Without git, which need not be installed and takes milliseconds, where it has nothing to say.
	up := real
	for err == nil {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			break
		}
		if filepath.Dir(up) == up {
			return dir
		}
		up = filepath.Dir(up)
	}
	if err != nil || up == real {
		return dir
	}
	repo, err := g.Open(ctx, dir)
	if err != nil {
		return dir
	}
	if tracked, err := repo.Tracked(ctx, "HEAD", repo.Prefix); err != nil || !tracked {
		return dir
	}
	return repo.Top
}

// Ignored reports which of some paths, relative to Dir, git ignores. Committed paths
// are never ignored.
func (r *Repo) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	if len(paths) == 0 {
		return ignored, nil
	}
	var list strings.Builder
	for _, path := range paths {
		list.WriteString("./" + path + "\x00") // "./" keeps names from looking like patterns
	}
	out, err := r.git.run(ctx, call{
		args: []string{"check-ignore", "-z", "--stdin"}, dir: r.Dir,
		env:   []string{"GIT_LITERAL_PATHSPECS=0"}, // this command does not support it
		stdin: []byte(list.String()),
	})
	if err != nil && exitCode(err) != 1 { // 1: none
		return nil, err
	}
	for _, path := range fields(out) {
		ignored[strings.TrimPrefix(path, "./")] = true
	}
	return ignored, nil
}

// Size returns the total size of a commit's files in bytes.
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

// Root returns the first commit of the repository of a folder, which identifies the repository among
// all its clones; empty: it has none. Of several first commits it is the one with the lowest name.
func (g Git) Root(ctx context.Context, dir string) string {
	repo, err := g.Open(ctx, dir)
	if err != nil {
		return ""
	}
	out, err := repo.plain(ctx, "rev-list", "--max-parents=0", "HEAD", "--")
	roots := strings.Fields(string(out))
	if err != nil || len(roots) == 0 {
		return ""
	}
	return slices.Min(roots)
}
