package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Base is the bare repository of a team, from which the clones of its members borrow objects and
// fetch branches. It borrows all objects from the repository of the workspace, and has the branches
// that covey has last seen there.
//
// Everything that it names, or named while there were clones, is kept in that repository by a
// reference of covey's below refs/covey/base (a pin), whatever happens to the operator's branches.
// So a pin is made before the base names its commit, and removed after. A Base's methods may be
// called from several goroutines at once.
type Base struct {
	repo *Repo
	dir  string
	id   string // unique to the team among those of the repository; fit for the name of a reference

	mu *sync.Mutex // held while references of the base and pins change
}

// baseRemote is the name that clones have for the base.
const baseRemote = "covey"

// sharedFile is in the git folder of a clone and holds the references that it was last given.
const sharedFile = "covey-shared"

// lent is what a member's clone knows of where it comes from.
type lent struct {
	base   *Base
	name   string // unique among the clones of the base
	branch string // of the operator's repository: what the clone has checked out, for people
}

// Base returns the base of a team in folder dir, which may not exist yet.
func (r *Repo) Base(dir, id string) *Base { return &Base{r, dir, id, new(sync.Mutex)} }

// operation returns the base for calls that read the configuration of the operator's repository once.
func (b *Base) operation(ctx context.Context) (*Base, error) {
	repo, err := b.repo.Operation(ctx)
	if err != nil {
		return nil, err
	}
	return &Base{repo, b.dir, b.id, b.mu}, nil
}

// pins is where the pins of the base are.
func (b *Base) pins() string { return "refs/covey/base/" + b.id + "/" }

// in is the reference of the operator's repository that keeps what a clone has checked out.
func (b *Base) in(name string) string { return "refs/covey/in/" + b.id + "/" + name }

// remote returns the configuration by which clones fetch from the base. Nobody pushes to it.
func (b *Base) remote() string {
	key := "remote." + baseRemote + "."
	return entry{key: key + "url", value: b.dir}.line() +
		entry{key: key + "pushurl", value: "covey merges committed work, so push nothing"}.line() +
		entry{key: key + "fetch", value: "+refs/heads/*:refs/remotes/" + baseRemote + "/*"}.line()
}

// lends returns the references that clones get: the branches of others only as remote branches.
func lends(refs []named) []named {
	var list []named
	for _, n := range refs {
		name, branch := strings.CutPrefix(n.ref, "refs/heads/")
		if !branch || !strings.HasPrefix(name, "covey/") {
			list = append(list, n)
		}
		if branch {
			list = append(list, named{"refs/remotes/" + baseRemote + "/" + name, n.id})
		}
	}
	list = slices.DeleteFunc(list, func(n named) bool { // of a remote of the operator's with this name
		name, of := strings.CutPrefix(n.ref, "refs/remotes/"+baseRemote+"/")
		return of && !slices.ContainsFunc(refs, func(h named) bool { return h.ref == "refs/heads/"+name })
	})
	slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.ref, b.ref) })
	return slices.CompactFunc(list, func(a, b named) bool { return a.ref == b.ref })
}

// Add creates the clone of a member on a new branch of its own, which begins at n.Commit, or
// continues on the existing branch n.Branch if n.Commit is empty. People see the branch in the
// operator's repository. The error wraps ErrTaken if the folder exists, or the branch although
// n.Commit is set; it wraps ErrNoRef if there is no such commit. An error leaves nothing of the
// clone.
func (b *Base) Add(ctx context.Context, n New) error {
	b, err := b.operation(ctx)
	if err != nil {
		return err
	}
	branch, was, name := "refs/heads/"+n.Branch, "", filepath.Base(n.Path)
	if n.Commit == "" {
		commit, err := b.repo.Commit(ctx, branch)
		if err != nil {
			return err
		}
		n.Commit, was = commit, commit
	} else if n.Commit, err = b.repo.Commit(ctx, n.Commit); err != nil {
		return err
	}
	if err := b.Refresh(ctx); err != nil {
		return err
	}
	if err := b.pin(ctx, n.Commit); err != nil {
		return err
	}
	refs, err := os.ReadFile(filepath.Join(b.dir, "packed-refs"))
	if err != nil {
		return fmt.Errorf("make a working copy: %w", err)
	}
	from := source{lenders: []string{filepath.Join(b.dir, "objects")}, refs: lends(unpacked(string(refs))), base: b}
	if _, err := b.repo.clone(ctx, n, from); err != nil {
		return err
	}
	// The branch comes last: what a kill leaves before is found by its folder.
	err = b.repo.Keep(ctx, b.in(name), n.Commit)
	if err == nil && was == "" {
		err = b.repo.Move(ctx, branch, Step{To: n.Commit, Why: "covey: a working copy begins"})
		if errors.Is(err, ErrMoved) || blocked(err) {
			err = fmt.Errorf("%w: branch %s: %w", ErrTaken, n.Branch, err)
		}
	}
	if err != nil {
		ctx = context.WithoutCancel(ctx)
		return errors.Join(err, os.RemoveAll(n.Path), b.repo.Release(ctx, b.in(name)))
	}
	return nil
}

// blocked reports whether another branch prevents one: with a branch "covey" there can
// be no "covey/crew/ana".
func blocked(err error) bool { return strings.Contains(printed(err), "cannot create") }

// Discard removes a clone with everything in it, but for the name in one step: what a kill leaves is
// not taken for work (Unfinished). The branch in the operator's repository stays.
func (b *Base) Discard(ctx context.Context, path string) error {
	gone, err := os.MkdirTemp(filepath.Dir(path), partial+"*")
	if err == nil {
		err = os.Rename(path, filepath.Join(gone, filepath.Base(path)))
	}
	if err = errors.Join(err, os.RemoveAll(gone)); err != nil {
		return fmt.Errorf("remove the working copy %s: %w", path, err)
	}
	return b.repo.Release(ctx, b.in(filepath.Base(path)))
}

// Open opens the clone of a member, and returns what it has checked out. branch is the one that
// people see.
func (b *Base) Open(ctx context.Context, path, branch string) (*Repo, Head, error) {
	r, head, err := b.repo.git.openCloneHead(ctx, path)
	if err == nil {
		r.lent = &lent{base: b, name: filepath.Base(path), branch: branch}
	}
	return r, head, err
}

// Shows reports whether a branch of the operator's repository shows what was last fetched from a clone.
func (b *Base) Shows(ctx context.Context, path, branch string) bool {
	in, err := b.repo.Commit(ctx, b.in(filepath.Base(path)))
	if err != nil {
		return false
	}
	at, err := b.repo.Commit(ctx, "refs/heads/"+branch)
	return err == nil && at == in
}

// Refresh brings the base to what the operator's repository names, and creates it if necessary.
func (b *Base) Refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.create(ctx); err != nil {
		return fmt.Errorf("the base of the working copies: %w", err)
	}
	for tries := 0; ; tries++ {
		err := b.refresh(ctx)
		if err == nil {
			return nil
		}
		if tries == 2 || ctx.Err() != nil { // a branch may be deleted and pruned meanwhile
			return fmt.Errorf("the base of the working copies: %w", err)
		}
	}
}

// create creates the base unless it is there.
func (b *Base) create(ctx context.Context) error {
	if _, err := os.Lstat(b.dir); err == nil {
		return nil
	}
	part := filepath.Join(filepath.Dir(b.dir), partial+filepath.Base(b.dir))
	if err := os.RemoveAll(part); err != nil { // of a killed attempt
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.dir), 0o700); err != nil {
		return err
	}
	if err := b.repo.initialize(ctx, part, true); err != nil {
		return err
	}
	lenders, err := b.repo.lenders(ctx)
	if err != nil {
		return err
	}
	if err := writeFile(part, "objects/info/alternates", strings.Join(lenders, "\n")+"\n"); err != nil {
		return err
	}
	return os.Rename(part, b.dir)
}

// refresh is one attempt of Refresh. b.mu is held.
func (b *Base) refresh(ctx context.Context) error {
	refs, pinned, err := b.repo.named(ctx, b.pins())
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, p := range pinned {
		has[p.ref] = true
	}
	wanted := map[string]bool{}
	var add []string
	for _, n := range refs {
		pin := b.pinOf(n)
		if !wanted[pin] && !has[pin] {
			add = append(add, "update "+pin+" "+n.id)
		}
		wanted[pin] = true
	}
	if len(add) > 0 {
		if b, err = b.operation(ctx); err != nil {
			return err
		}
	}
	if err := b.repo.change(ctx, add); err != nil {
		return err
	}
	if err := b.repo.deepen(b.dir); err != nil {
		return err
	}
	if err := rewrite(b.dir, "packed-refs", packed(refs)); err != nil {
		return err
	}
	return b.unpin(ctx, add, wanted)
}

// pinOf returns the pin of a reference. Tags have others than commits, because a tag may be an object
// that no commit keeps.
func (b *Base) pinOf(n named) string {
	if strings.HasPrefix(n.ref, "refs/tags/") {
		return b.pins() + "tags/" + n.id
	}
	return b.pins() + "commits/" + n.id
}

// unpin removes the pins of commits that new ones keep as well: a branch that moves on leaves no
// trace. The pin of what was rewritten or deleted stays, because a clone may have it. b.mu is held.
func (b *Base) unpin(ctx context.Context, added []string, wanted map[string]bool) error {
	args := []string{"for-each-ref", "--format=%(refname)"}
	for _, a := range added[:min(len(added), 50)] {
		if _, id, ok := strings.Cut(a, b.pins()+"commits/"); ok {
			args = append(args, "--merged="+id[:strings.IndexByte(id, ' ')])
		}
	}
	if len(args) == 2 {
		return nil
	}
	out, err := b.repo.plain(ctx, append(args, b.pins()+"commits/")...)
	if err != nil {
		return err
	}
	var remove []string
	for _, ref := range strings.Fields(string(out)) {
		if !wanted[ref] {
			remove = append(remove, "delete "+ref)
		}
	}
	return b.repo.change(ctx, remove)
}

// pin keeps a commit until Drop.
func (b *Base) pin(ctx context.Context, commit string) error {
	return b.repo.Keep(ctx, b.pinOf(named{"", commit}), commit)
}

// Drop removes the base, and then the pins. There must be no clone any more.
func (b *Base) Drop(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := os.RemoveAll(b.dir); err != nil {
		return fmt.Errorf("remove the base of the working copies: %w", err)
	}
	for _, below := range []string{b.pins(), b.in(""), "refs/covey/trial/" + b.id} {
		out, err := b.repo.plain(ctx, "for-each-ref", "--format=delete %(refname)", below)
		if err == nil && len(out) > 0 {
			err = b.repo.change(ctx, strings.Split(strings.TrimSpace(string(out)), "\n"))
		}
		if err != nil {
			return fmt.Errorf("remove the base of the working copies: %w", err)
		}
	}
	return nil
}

// change changes references by commands of git update-ref --stdin, all or none.
func (r *Repo) change(ctx context.Context, commands []string) error {
	if len(commands) == 0 {
		return nil
	}
	_, err := r.guarded(ctx, call{args: []string{"update-ref", "--stdin"}, stdin: []byte(strings.Join(commands, "\n") + "\n")})
	return err
}

// Keep sets a reference of covey's own, wherever it was, so that git keeps a commit.
func (r *Repo) Keep(ctx context.Context, ref, commit string) error {
	_, err := r.run(ctx, "update-ref", ref, commit)
	return err
}

// Release removes a reference of covey's own.
func (r *Repo) Release(ctx context.Context, ref string) error {
	_, err := r.run(ctx, "update-ref", "-d", ref)
	return err
}
