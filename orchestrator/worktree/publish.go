package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/shell"
)

// Stray is a reference of a clone that has commits which its head and its remotes do not have.
type Stray struct{ Name, Commit string }

// Strays lists the strays of a clone, the stash among them; other working copies have none, because
// they share their references.
func (r *Repo) Strays(ctx context.Context) ([]Stray, error) {
	if r.lent == nil {
		return nil, nil
	}
	out, err := r.plain(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "--no-merged=HEAD", "refs/heads", "refs/stash")
	given, _ := readFile(r.Common, sharedFile) // without it, all are looked at
	var list []Stray
	for text := range strings.Lines(string(out)) {
		id, ref, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
		if strings.Contains(string(given), text) {
			continue
		}
		own, err := r.plain(ctx, "rev-list", "--max-count=1", id, "--not", "HEAD", "--remotes", "--")
		if err != nil {
			return nil, err
		}
		if len(own) > 0 {
			list = append(list, Stray{strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "heads/"), id})
		}
	}
	return list, err
}

// Publish brings what the clone of a member has checked out to the operator's repository, and
// returns the branch by which people see it there. If they have moved that branch, it is only moved
// forward. For other working copies it does nothing: what they have checked out is there.
func (r *Repo) Publish(ctx context.Context, head Head) (branch string, err error) {
	l := r.lent
	if l == nil {
		return head.Branch, nil
	}
	to := l.base.repo
	was, err := to.Commit(ctx, l.base.in(l.name))
	if err != nil && !errors.Is(err, ErrNoRef) {
		return "", err
	}
	if was == head.Commit || head.Commit == "" {
		return l.branch, nil
	}
	base, err := l.base.operation(ctx)
	if err != nil {
		return "", err
	}
	to = base.repo
	if was != "" { // a commit that is given up may be on another branch of the clone
		if kept, err := r.Holds(ctx, head.Commit, was); err != nil || !kept {
			if err := base.pin(ctx, was); err != nil {
				return "", err
			}
		}
	}
	if err := to.Fetch(ctx, r, head.Commit, l.base.in(l.name)); err != nil {
		return "", err
	}
	if err := base.show(ctx, l.branch, Step{From: was, To: head.Commit, Why: "covey: fetched from " + r.Top}); err != nil {
		return "", err
	}
	return l.branch, base.Refresh(ctx)
}

// show moves the branch by which people see a clone. If they have moved it, it is only moved forward.
func (b *Base) show(ctx context.Context, branch string, step Step) error {
	ref := "refs/heads/" + branch
	if step.From != step.To {
		if err := b.repo.Move(ctx, ref, step); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	at, err := b.repo.Commit(ctx, ref)
	switch {
	case errors.Is(err, ErrNoRef):
		at = ""
	case err != nil || at == step.To:
		return err
	default:
		if forward, err := b.repo.Holds(ctx, step.To, at); err != nil || !forward {
			return err
		}
	}
	step.From = at
	return b.repo.Move(ctx, ref, step)
}

// Show brings the branch by which people see a clone to what was last fetched from it, which a kill may
// have prevented.
func (b *Base) Show(ctx context.Context, path, branch string) error {
	in, err := b.repo.Commit(ctx, b.in(filepath.Base(path)))
	if err != nil {
		return err
	}
	return b.show(ctx, branch, Step{From: in, To: in, Why: "covey: fetched from " + path})
}

// Fetch brings a commit of a clone to r, with all that belongs to it, and sets a reference of covey's
// own to it. Objects that are not in order are refused.
func (r *Repo) Fetch(ctx context.Context, from *Repo, commit, ref string) error {
	return r.fetch(ctx, from, "+"+commit+":"+ref)
}

// fetch is Fetch with a refspec.
func (r *Repo) fetch(ctx context.Context, from *Repo, refspec string) error {
	if err := r.deepen(from.Common); err != nil {
		return fmt.Errorf("fetch from %s: %w", from.Top, err)
	}
	box, _, err := from.git.inside(from.Top)
	if err != nil {
		return err
	}
	c := call{env: []string{"GIT_ALLOW_PROTOCOL=file"}, limit: slow}
	// git takes neither settings nor environment of a call to the other repository, whose own
	// settings are not trusted.
	other := "GIT_ALLOW_PROTOCOL=none git"
	for _, o := range baseOptions() {
		other += " " + shell.Quote(o)
	}
	other += " upload-pack"
	if box != nil {
		c.from, other = from, "exec sh -c 'cat <&3 4>&- & exec cat >&4 3<&-'"
	}
	c.args = []string{
		"-c", "core.alternateRefsCommand=true", "-c", "fetch.fsckObjects=true", "-c", "fetch.unpackLimit=100", "-c", "fetch.writeCommitGraph=false",
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--no-prune",
		"--upload-pack=" + other, "--", from.GitDir, refspec,
	}
	if _, err = r.guarded(ctx, c); err == nil {
		r.gather(ctx)
	}
	return err
}

// A repository may have mostPacks packs of up to smallPack bytes before covey makes few of them: each git looks into all.
const (
	mostPacks = 20
	smallPack = 32 << 20
)

// gather makes few packs of many small ones. Git makes one of each fetch whose objects it checks, and does not tidy up for
// covey, because that would also remove what nobody names yet. Large packs are the user's, and would take long. An error
// leaves the packs, which cost time alone.
func (r *Repo) gather(ctx context.Context) {
	files, _ := os.ReadDir(filepath.Join(r.Common, "objects", "pack"))
	args := []string{"repack", "-d", "-l", "-n", "-q", "--geometric=2", "--no-write-bitmap-index"}
	packs := 0
	for _, f := range files {
		switch filepath.Ext(f.Name()) {
		case ".pack":
			if info, err := f.Info(); err == nil && info.Size() <= smallPack {
				packs++
			} else {
				args = append(args, "--keep-pack="+f.Name())
			}
		case ".promisor": // in a partial clone, packs are of two kinds
			return
		}
	}
	if packs > mostPacks {
		_, _ = r.guarded(ctx, call{args: args, limit: slow})
	}
}

// serve runs a git that fetches from r, while git upload-pack runs in the box of r. Each reads what the other writes: what
// git fetches is all that leaves the box.
func (r *Repo) serve(ctx context.Context, fetch proc.Process) (proc.Exit, error) {
	var ends []*os.File // read and written by upload-pack, by git
	defer func() {
		for _, f := range ends {
			f.Close()
		}
	}()
	for range 2 {
		read, write, err := os.Pipe()
		if err != nil {
			return proc.Exit{}, err
		}
		ends = append(ends, read, write)
	}
	var said bytes.Buffer
	marker := newMarker()
	box, _, err := r.git.inside(r.Top)
	if err != nil {
		return proc.Exit{}, err
	}
	pack, err := proc.Process{
		Args: append([]string{"sh", "-c", `exec git "$@" <&3 >&4`, "sh"}, append(baseOptions(), "upload-pack", "--", r.GitDir)...),
		Dir:  r.Top, Env: append(r.git.environ(call{}, marker), "GIT_PROTOCOL=version=2"), Files: []*os.File{ends[0], ends[3]},
		Stderr: &said, Grace: stopGrace, Marker: marker, Reap: true, Started: r.git.Started, Box: box,
	}.Start(ctx)
	if err != nil {
		return proc.Exit{}, err
	}
	fetch.Files = []*os.File{ends[2], ends[1]}
	running, err := fetch.Start(ctx)
	for _, f := range ends { // upload-pack ends when git has
		f.Close()
	}
	ends = nil
	if err != nil {
		pack.Wait()
		return proc.Exit{}, err
	}
	exit := running.Wait()
	pack.Wait()
	_, err = fetch.Stderr.Write(said.Bytes())
	return exit, err
}

// deepen gives a repository that borrows all objects of r the limits of r's history (git's file
// shallow) in place of those that it was given last. Those that it has set itself stay.
func (r *Repo) deepen(dir string) error {
	const given = "covey-shallow"
	now, was := linesOf(r.Common, "shallow"), linesOf(dir, given)
	if slices.Equal(now, was) {
		return nil
	}
	own := slices.DeleteFunc(linesOf(dir, "shallow"), func(id string) bool { return slices.Contains(was, id) })
	own = append(own, now...)
	slices.Sort(own)
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer root.Close()
	err = root.Remove(filepath.Join(filepath.Base(dir), "shallow")) // git takes an empty one for a history without beginnings
	if own = slices.Compact(own); len(own) > 0 {
		err = writeFile(dir, "shallow", strings.Join(own, "\n")+"\n")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeFile(dir, given, strings.Join(now, "\n"))
}

// linesOf returns the words of a file of a folder of git, one in a line; none if it cannot be read.
func linesOf(dir, name string) []string {
	data, _ := readFile(dir, name)
	return strings.Fields(string(data))
}

// Share gives the clone of a member what has moved in the operator's repository since it was last
// given that, if it still has it as it was given. What the clone has checked out stays. The member
// must not work meanwhile.
func (r *Repo) Share(ctx context.Context, head Head) error {
	l := r.lent
	if l == nil {
		return nil
	}
	if err := l.base.Refresh(ctx); err != nil {
		return err
	}
	if err := l.base.repo.deepen(r.Common); err != nil {
		return fmt.Errorf("the history of %s: %w", r.Top, err)
	}
	data, err := os.ReadFile(filepath.Join(l.base.dir, "packed-refs"))
	if err != nil {
		return fmt.Errorf("the branches of %s: %w", r.Top, err)
	}
	last, _ := readFile(r.Common, sharedFile) // without it, nothing is as it was given
	was, now := map[string]string{}, map[string]string{}
	for _, n := range unpacked(string(last)) {
		was[n.ref] = n.id
	}
	refs := lends(unpacked(string(data)))
	for _, n := range refs {
		now[n.ref] = n.id
	}
	if packed(refs) == string(last) {
		return nil
	}
	own, _, err := r.named(ctx, "")
	if err != nil {
		return err
	}
	has := map[string]string{"refs/heads/" + head.Branch: "checked out"}
	for _, n := range own {
		if has[n.ref] == "" {
			has[n.ref] = n.id
		}
	}
	var add, remove []string
	for _, n := range refs {
		if n.id != has[n.ref] && has[n.ref] == was[n.ref] {
			add = append(add, "update "+n.ref+" "+n.id)
		}
	}
	for ref, id := range was {
		if now[ref] == "" && has[ref] == id {
			remove = append(remove, "delete "+ref)
		}
	}
	if err := r.change(ctx, remove); err != nil { // first, because they may be in the way
		return err
	}
	if err := r.change(ctx, add); err != nil {
		return err
	}
	if err := writeFile(r.Common, sharedFile, packed(refs)); err != nil {
		return fmt.Errorf("the branches of %s: %w", r.Top, err)
	}
	return nil
}
