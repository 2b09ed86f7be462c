package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// New is a clone for Clone or Base.Add to create.
type New struct {
	Path   string // absolute; must not exist
	Commit string // names what it has checked out
	Branch string // short name of the branch that it is on; empty: none
}

// Clone creates a working copy that is a repository of its own, with the branches, tags,
// remotes and settings of r, except hooks and what may hold a password. It borrows the
// objects of r. Only a commit that something keeps in r may be checked out there. The
// error wraps ErrTaken if the folder exists. An error leaves nothing of the copy.
func (r *Repo) Clone(ctx context.Context, n New) (*Repo, error) {
	var err error
	if n.Commit, err = r.Commit(ctx, n.Commit); err != nil {
		return nil, err
	}
	lenders, err := r.lenders(ctx)
	if err != nil {
		return nil, err
	}
	refs, _, err := r.named(ctx, "")
	if err != nil {
		return nil, err
	}
	return r.clone(ctx, n, source{lenders: lenders, refs: refs})
}

// source is what a clone begins with.
type source struct {
	lenders []string // folders of objects
	refs    []named
	base    *Base // nil: the clone is nobody's
}

// clone creates a clone in a folder beside its own, which gets its name last: what a kill
// leaves has no member's name.
func (r *Repo) clone(ctx context.Context, n New, from source) (_ *Repo, err error) {
	if _, err := os.Lstat(n.Path); err == nil {
		return nil, fmt.Errorf("%w: %s is there already", ErrTaken, n.Path)
	}
	if err := os.MkdirAll(filepath.Dir(n.Path), 0o700); err != nil {
		return nil, fmt.Errorf("make a working copy: %w", err)
	}
	part, err := os.MkdirTemp(filepath.Dir(n.Path), partial+"*")
	if err != nil {
		return nil, fmt.Errorf("make a working copy: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	if err := r.initialize(ctx, part, false); err != nil {
		return nil, err
	}
	if err := r.equip(ctx, filepath.Join(part, ".git"), n, from); err != nil {
		return nil, fmt.Errorf("make a working copy: %w", err)
	}
	git := r.git
	if git.Withheld != nil {
		git.Withheld = func(w Withheld) {
			w.Top = n.Path
			r.git.Withheld(w)
		}
	}
	made, err := git.openClone(ctx, part)
	if err != nil {
		return nil, err
	}
	if made, err = made.Operation(ctx); err != nil {
		return nil, err
	}
	if _, err := made.run(ctx, "reset", "--quiet", "--hard", "--no-recurse-submodules"); err != nil {
		return nil, err
	}
	if err := made.withhold(ctx); err != nil {
		return nil, err
	}
	if err := os.Rename(part, n.Path); err != nil {
		return nil, fmt.Errorf("make a working copy: %w", err)
	}
	return r.git.openClone(ctx, n.Path)
}

// partial begins the names of folders of unfinished clones.
const partial = ".new-"

// Unfinished removes what kills have left of clones in a folder.
func Unfinished(dir string) error {
	left, err := filepath.Glob(filepath.Join(globQuote(dir), partial+"*"))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return fmt.Errorf("remove unfinished working copies: %w", err)
	}
	return nil
}

// IsUnfinished reports whether the name of a folder is one that Unfinished removes.
func IsUnfinished(name string) bool { return strings.HasPrefix(name, partial) }

// globQuote quotes a path for use in a pattern.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// initialize creates an empty repository that has the kind of ids of r.
func (r *Repo) initialize(ctx context.Context, path string, bare bool) error {
	out, err := r.plain(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	args := []string{"-c", "init.defaultRefFormat=files", "init", "--quiet", "--template=", "--object-format=" + line(out)}
	if bare {
		args = append(args, "--bare")
	}
	_, err = r.git.run(ctx, call{args: append(args, path), dir: filepath.Dir(path)})
	return err
}

// equip writes the files of a new clone that git init does not.
func (r *Repo) equip(ctx context.Context, dir string, n New, from source) error {
	config, err := r.carried(ctx)
	if err != nil {
		return err
	}
	head, refs := n.Commit, from.refs
	if n.Branch != "" {
		head, refs = "ref: refs/heads/"+n.Branch, withRef(refs, named{"refs/heads/" + n.Branch, n.Commit})
	}
	if from.base != nil {
		config += from.base.remote()
		if err := writeFile(dir, sharedFile, packed(from.refs)); err != nil {
			return err
		}
	}
	old, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		return err
	}
	for _, f := range [][2]string{
		{"config", string(old) + config}, {"HEAD", head + "\n"}, {"packed-refs", packed(refs)},
		{"objects/info/alternates", strings.Join(from.lenders, "\n") + "\n"},
	} {
		if err := writeFile(dir, f[0], f[1]); err != nil {
			return err
		}
	}
	for to, file := range map[string]string{
		"info/exclude":         filepath.Join(r.Common, "info", "exclude"),
		"info/attributes":      filepath.Join(r.Common, "info", "attributes"),
		"info/sparse-checkout": filepath.Join(r.GitDir, "info", "sparse-checkout"),
	} {
		data, err := os.ReadFile(file)
		if err == nil {
			err = writeFile(dir, to, string(data))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.deepen(dir)
}

// writeFile writes a file of a folder of git in one step, with the folders above it. Where a member works, it may have put links
// and pipes there, which lead nowhere.
func writeFile(dir, name, text string) error {
	root, err := os.OpenRoot(filepath.Dir(dir)) // dir may be a link, too
	if err != nil {
		return err
	}
	defer root.Close()
	name = filepath.Join(filepath.Base(dir), filepath.FromSlash(name))
	part := name + ".covey"
	if err := errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.RemoveAll(part)); err != nil {
		return err
	}
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(part, name)
}

// readFile returns a file of a folder of git, as writeFile has written it.
func readFile(dir, name string) ([]byte, error) {
	return texts.ReadIn(filepath.Dir(dir), filepath.Join(filepath.Base(dir), filepath.FromSlash(name)), math.MaxInt)
}

// lenders returns the folders of objects from which a clone of r borrows: its own, and those that it
// borrows from, because git follows a chain of them only so far.
func (r *Repo) lenders(ctx context.Context) ([]string, error) {
	list := []string{filepath.Join(r.Common, "objects")}
	if _, err := os.Lstat(filepath.Join(list[0], "info", "alternates")); errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	out, err := r.plain(ctx, "count-objects", "-v")
	for text := range strings.Lines(string(out)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(text, "\n"), "alternate: "); ok {
			list = append(list, path) // quoted as git reads it
		}
	}
	return list, err
}

// openClone opens a clone, whose own files cannot make it another repository.
func (g Git) openClone(ctx context.Context, top string) (*Repo, error) {
	r, _, err := g.openCloneHead(ctx, top)
	return r, err
}

// openCloneHead is openClone, and returns what the clone has checked out.
func (g Git) openCloneHead(ctx context.Context, top string) (*Repo, Head, error) {
	r, head, err := g.OpenHead(ctx, top)
	if err != nil {
		return nil, head, err
	}
	if own := filepath.Join(r.Top, ".git"); r.Dir != r.Top || r.GitDir != own || r.Common != own {
		return nil, head, fmt.Errorf("%w: %s is no clone that covey has made", ErrNoRepo, top)
	}
	r.borrows = true
	return r, head, nil
}

// AtClone opens a clone that Clone has made. The error wraps ErrNoRepo if it is none.
func (r *Repo) AtClone(ctx context.Context, top string) (*Repo, error) {
	return r.git.openClone(ctx, top)
}

// Update gives a clone that Clone has made the current branches, tags and remote branches of r.
func (r *Repo) Update(ctx context.Context, clone *Repo) error {
	refs, _, err := r.named(ctx, "")
	if err == nil {
		err = rewrite(clone.Common, "packed-refs", packed(refs))
	}
	if err != nil {
		return fmt.Errorf("the branches of %s: %w", clone.Top, err)
	}
	return nil
}

// rewrite writes a file unless it has this content.
func rewrite(dir, name, text string) error {
	if old, err := readFile(dir, name); err == nil && string(old) == text {
		return nil
	}
	return writeFile(dir, name, text)
}

// named is a reference and the id that it names.
type named struct{ ref, id string }

// named lists branches, tags and remote branches in order, without those that only name another
// one, and the references below a path; empty: none.
func (r *Repo) named(ctx context.Context, below string) (refs, pins []named, err error) {
	args := []string{"for-each-ref", "--format=%(objectname) %(refname) %(symref)", "refs/heads", "refs/remotes", "refs/tags"}
	if below != "" {
		args = append(args, below)
	}
	out, err := r.plain(ctx, args...)
	for text := range strings.Lines(string(out)) {
		f := strings.Fields(text)
		switch {
		case len(f) != 2:
		case below != "" && strings.HasPrefix(f[1], below):
			pins = append(pins, named{f[1], f[0]})
		default:
			refs = append(refs, named{f[1], f[0]})
		}
	}
	return refs, pins, err
}

// withRef sets a reference in an ordered list.
func withRef(refs []named, n named) []named {
	at, found := slices.BinarySearchFunc(refs, n.ref, func(n named, ref string) int { return strings.Compare(n.ref, ref) })
	if refs = slices.Clone(refs); found {
		refs[at] = n
		return refs
	}
	return slices.Insert(refs, at, n)
}

// packed returns the content of a file packed-refs (gitrepository-layout(5)) with references in order.
func packed(refs []named) string {
	var text strings.Builder
	text.WriteString("# pack-refs with: sorted \n")
	for _, n := range refs {
		text.WriteString(n.id + " " + n.ref + "\n")
	}
	return text.String()
}

// unpacked is the inverse of packed.
func unpacked(text string) (refs []named) {
	for text := range strings.Lines(text) {
		if id, ref, ok := strings.Cut(strings.TrimSuffix(text, "\n"), " "); ok && id != "#" {
			refs = append(refs, named{ref, id})
		}
	}
	return refs
}
