package worktree

import (
	"bufio"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
)

// Intact checks that objects have the ids that their contents make, which git does not do for each object
// that it reads: a file of its own format in the folder of its objects can pass for any object. Names are ids
// or as git rev-parse takes them; those of objects that are not there are ignored. The error wraps ErrForged.
func (r *Repo) Intact(ctx context.Context, names ...string) error {
	out, in := io.Pipe()
	checked := make(chan error, 1)
	go func() {
		err := rehash(out)
		_ = out.CloseWithError(err) // ends git; it returns nil
		checked <- err
	}()
	_, err := r.git.run(ctx, call{
		args: []string{"cat-file", "--batch"}, dir: r.Top, stdin: []byte(strings.Join(names, "\n") + "\n"), limit: slow, stdout: in,
	})
	_ = in.Close() // returns nil
	if wrong := <-checked; wrong != nil {
		return wrong
	}
	return err
}

// IntactTree checks the files and folders of a commit as Intact checks objects.
func (r *Repo) IntactTree(ctx context.Context, commit Recorded) error {
	if err := r.Intact(ctx, commit.Commit, commit.Tree); err != nil {
		return err
	}
	out, err := r.plain(ctx, "ls-tree", "-r", "-t", "-z", "--full-tree", commit.Tree)
	if err != nil {
		return err
	}
	var ids []string
	seen := map[string]bool{}
	for _, entry := range fields(out) {
		about, _, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(about); len(f) == 3 && !seen[f[2]] {
			seen[f[2]] = true
			ids = append(ids, f[2])
		}
	}
	return r.Intact(ctx, ids...)
}

// rehash reads what git cat-file --batch prints, and returns an error for the first object whose id is not that of
// its content.
func rehash(out io.Reader) error {
	in := bufio.NewReader(out)
	for {
		head, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		about := strings.Fields(head)
		if len(about) != 3 {
			continue // not there
		}
		size, err := strconv.ParseInt(about[2], 10, 64)
		if err != nil {
			continue // a name of two words that is not there
		}
		var sum hash.Hash = sha1.New()
		if len(about[0]) == 2*sha256.Size {
			sum = sha256.New()
		}
		fmt.Fprintf(sum, "%s %d\x00", about[1], size)
		if _, err := io.CopyN(sum, in, size); err != nil {
			return fmt.Errorf("read the %s %.12s: %w", about[1], about[0], err)
		}
		if _, err := in.Discard(1); err != nil { // a line break
			return fmt.Errorf("read the %s %.12s: %w", about[1], about[0], err)
		}
		if fmt.Sprintf("%x", sum.Sum(nil)) != about[0] {
			return fmt.Errorf("%w: the %s %.12s holds something else; git fsck lists all such objects, and a new clone has none",
				ErrForged, about[1], about[0])
		}
	}
}
