package worktree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// zero is what git takes for "no object" of repositories with SHA-1 and SHA-256
// alike, as the old value of a reference.
const zero = "0000000000000000000000000000000000000000"

// Head is what a working copy is on.
type Head struct {
	Branch string // short name, as in "main"; empty: a commit, and no branch (detached)
	Commit string // full id; empty: the branch has no commit yet
}

// Head tells what the working copy is on.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	if out, err := r.plain(ctx, "rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD"); err == nil {
		if commit, ref, ok := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n"); ok && ref != "HEAD" {
			return Head{Branch: strings.TrimPrefix(ref, "refs/heads/"), Commit: commit}, nil
		}
	}
	// It is on no branch, or on one without a commit.
	var h Head
	out, err := r.plain(ctx, "symbolic-ref", "--quiet", "HEAD")
	var f *Failure
	switch {
	case err == nil:
		h.Branch = strings.TrimPrefix(line(out), "refs/heads/")
	case !errors.As(err, &f) || f.Code != 1:
		return h, err
	}
	h.Commit, err = r.Commit(ctx, "HEAD")
	if errors.Is(err, ErrNoRef) && h.Branch != "" {
		return h, nil
	}
	return h, err
}

// Commit is the full id of the commit that a branch, a tag or an id stands for.
// The error wraps ErrNoRef if there is none.
func (r *Repo) Commit(ctx context.Context, rev string) (string, error) {
	return r.object(ctx, rev, "commit")
}

// TreeOf is the id of a commit's tree. The error wraps ErrNoRef if there is none.
func (r *Repo) TreeOf(ctx context.Context, rev string) (string, error) {
	return r.object(ctx, rev, "tree")
}

// object is the id of an object of a kind.
//
// What begins with a dash is refused before git sees it: names come from specs and from
// agents, and none may become an option.
func (r *Repo) object(ctx context.Context, rev, kind string) (string, error) {
	if rev == "" || strings.HasPrefix(rev, "-") || strings.Contains(rev, "\x00") {
		return "", fmt.Errorf("%w: %q", ErrNoRef, rev)
	}
	out, err := r.plain(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{"+kind+"}")
	var f *Failure
	if errors.As(err, &f) && f.Code > 0 {
		return "", fmt.Errorf("%w: %s", ErrNoRef, rev)
	}
	return line(out), err
}

// Holds reports whether everything that commit has is in into already.
func (r *Repo) Holds(ctx context.Context, into, commit string) (bool, error) {
	if into == commit {
		return true, nil
	}
	_, err := r.plain(ctx, "merge-base", "--is-ancestor", commit, into)
	var f *Failure
	if errors.As(err, &f) && f.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// MergeBase is the commit that two commits have in common, the best of them; empty:
// there is none.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.plain(ctx, "merge-base", a, b)
	var f *Failure
	if errors.As(err, &f) && f.Code == 1 {
		return "", nil
	}
	return line(out), err
}

// Branches lists the branches below a path, as in "covey/crew", with the commits
// that they are on, by short name.
func (r *Repo) Branches(ctx context.Context, below string) (map[string]string, error) {
	out, err := r.plain(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/"+below)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for text := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
		found[strings.TrimPrefix(name, "refs/heads/")] = id
	}
	return found, nil
}

// Blocking is the branch among some, such as Branches gives, beside which there can be
// no branch of a name: git keeps each as a file, so beside "covey" there is no
// "covey/crew/ana", and the other way round. Empty: there is none.
func Blocking(branches map[string]string, name string) string {
	for above := path.Dir(name); above != "."; above = path.Dir(above) {
		if _, there := branches[above]; there {
			return above
		}
	}
	for _, b := range slices.Sorted(maps.Keys(branches)) {
		if strings.HasPrefix(b, name+"/") {
			return b
		}
	}
	return ""
}

// Move sets a reference, such as "refs/heads/main", to a commit if it still is
// where the caller thinks: was is its commit, or empty if it is not to exist. An
// empty to deletes it. why stands in the reference's log. The error wraps ErrMoved
// if somebody was faster, and then nothing has changed. It does not look at who
// has the branch checked out.
func (r *Repo) Move(ctx context.Context, ref string, step Step) error {
	if !strings.HasPrefix(ref, "refs/") {
		return fmt.Errorf("%w: %q is no full name of a reference", ErrNoRef, ref)
	}
	from := step.From
	if from == "" {
		from = zero
	}
	args := []string{"update-ref", "--create-reflog", "-m", step.Why, ref, step.To, from}
	if step.To == "" {
		args = []string{"update-ref", "-m", step.Why, "-d", ref, from}
	}
	_, err := r.run(ctx, args...)
	var f *Failure
	if errors.As(err, &f) && f.Code > 0 && moved(f.Stderr) {
		return fmt.Errorf("%w: %s: %s", ErrMoved, ref, firstLine(f.Stderr))
	}
	return err
}

// Step is a move of a reference.
type Step struct {
	From string // the commit that it is on; empty: it does not exist
	To   string // the commit that it is to be on; empty: it is deleted
	Why  string // for the reference's log
}

// moved reports whether git refused because a reference is not what it was.
func moved(stderr string) bool {
	return strings.Contains(stderr, "but expected") || strings.Contains(stderr, "reference already exists") ||
		strings.Contains(stderr, "unable to resolve reference")
}
