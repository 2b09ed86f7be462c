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

// Head is what a working copy has checked out.
type Head struct {
	Branch string // short name, as in "main"; empty: detached
	Commit string // full id; empty: the branch has no commit yet
	Tree   string // the id of the commit's tree; empty without a commit
}

// headArgs are the arguments of rev-parse that print a Head, in headLines lines. They fail
// on a branch without a commit.
var headArgs = []string{"HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD"}

const headLines = 3

// parseHead parses the output of headArgs.
func parseHead(said []string) (Head, bool) {
	if len(said) != headLines {
		return Head{}, false
	}
	h := Head{Commit: said[0], Tree: said[1]}
	if said[2] != "HEAD" {
		h.Branch = strings.TrimPrefix(said[2], "refs/heads/")
	}
	return h, true
}

// Head returns what the working copy has checked out.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	out, err := r.plain(ctx, append([]string{"rev-parse"}, headArgs...)...)
	if h, ok := parseHead(strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); err == nil && ok {
		return h, nil
	}
	// The branch has no commit.
	var h Head
	out, err = r.plain(ctx, "symbolic-ref", "--quiet", "HEAD")
	switch {
	case err == nil:
		h.Branch = strings.TrimPrefix(line(out), "refs/heads/")
	case exitCode(err) != 1:
		return h, err
	}
	h.Commit, err = r.Commit(ctx, "HEAD")
	if errors.Is(err, ErrNoRef) && h.Branch != "" {
		return h, nil
	}
	return h, err
}

// Commit returns the full id of the commit that a branch, a tag or an id names. The
// error wraps ErrNoRef if there is none.
func (r *Repo) Commit(ctx context.Context, rev string) (string, error) {
	return r.object(ctx, rev, "commit")
}

// TreeOf returns the id of a commit's tree. The error wraps ErrNoRef if there is none.
func (r *Repo) TreeOf(ctx context.Context, rev string) (string, error) {
	return r.object(ctx, rev, "tree")
}

// object returns the id of an object of a kind.
//
// It refuses names that begin with a dash: they come from specs and agents, and must
// not become options.
func (r *Repo) object(ctx context.Context, rev, kind string) (string, error) {
	if rev == "" || strings.HasPrefix(rev, "-") || strings.Contains(rev, "\x00") {
		return "", fmt.Errorf("%w: %q", ErrNoRef, rev)
	}
	out, err := r.plain(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{"+kind+"}")
	if exitCode(err) > 0 {
		return "", fmt.Errorf("%w: %s", ErrNoRef, rev)
	}
	return line(out), err
}

// Holds reports whether into contains commit.
func (r *Repo) Holds(ctx context.Context, into, commit string) (bool, error) {
	if into == commit {
		return true, nil
	}
	_, err := r.plain(ctx, "merge-base", "--is-ancestor", commit, into)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// MergeBase returns the best common ancestor of two commits; empty if there is none.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.plain(ctx, "merge-base", a, b)
	if exitCode(err) == 1 {
		return "", nil
	}
	return line(out), err
}

// Branches returns the branches below a path, such as "covey/crew", as a map from short
// name to commit.
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

// Blocking returns the branch among branches that prevents one with this name: git
// stores each as a file, so "covey" and "covey/crew/ana" exclude each other. Empty:
// there is none.
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

// Move sets a reference, such as "refs/heads/main", to step.To if it is still at
// step.From. step.Why goes into the reference's log. The error wraps ErrMoved if the
// reference was elsewhere, and then nothing has changed. Move does not check whether
// the branch is checked out.
func (r *Repo) Move(ctx context.Context, ref string, step Step) error {
	if !strings.HasPrefix(ref, "refs/") {
		return fmt.Errorf("%w: %q is not a full reference name", ErrNoRef, ref)
	}
	args := []string{"update-ref", "--create-reflog", "-m", step.Why, ref, step.To, step.From}
	if step.To == "" {
		args = []string{"update-ref", "-m", step.Why, "-d", ref, step.From}
	}
	_, err := r.run(ctx, args...)
	if exitCode(err) > 0 && moved(printed(err)) {
		return fmt.Errorf("%w: %s: %s", ErrMoved, ref, firstLine(printed(err)))
	}
	return err
}

// Step is a move of a reference.
type Step struct {
	From string // the expected commit; empty: it must not exist
	To   string // the new commit; empty: delete it
	Why  string // for the reference's log
}

// moved reports whether git refused because a reference was not as expected.
func moved(stderr string) bool {
	return strings.Contains(stderr, "but expected") || strings.Contains(stderr, "reference already exists") ||
		strings.Contains(stderr, "unable to resolve reference")
}
