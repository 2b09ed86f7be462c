package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestInside: whatever covey does in a copy whose git runs in a box is done, and a program that git starts there, here a
// filter that is allowed, reaches nothing outside of the box.
func TestInside(t *testing.T) {
	support := sandbox.Probe()
	if support.Namespaces = false; support.Level() == sandbox.None {
		t.Skip("this system holds no box")
	}
	visible, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	testkit.Must(t, err)
	testkit.Must(t, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)) // no box is started without
	t.Cleanup(func() { testkit.Must(t, unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(visible), 0, 0, 0)) })
	for _, boxed := range []bool{false, true} {
		bad, ran := trap(t)
		r := newFiltered(t)
		outside := filepath.Join(testkit.Folder(t), "outside.index")
		ana := add(t, r, "covey/crew/ana")
		indexes := testkit.Folder(t)
		read, write := sandbox.System()
		read = append(read, filepath.Dir(bad), r.Common, ana.lent.base.dir, os.Getenv("GIT_CONFIG_GLOBAL"))
		box, err := sandbox.New(sandbox.Policy{Want: sandbox.Best, Network: sandbox.NetworkOff, NoUnix: true, Read: read,
			Write: append(write[:2:2], ana.Top, indexes)}, support, sandbox.Extras{})
		testkit.Must(t, err)
		testkit.Shell(t, ana.Top, strings.ReplaceAll("git config filter.f.clean BAD; git config filter.f.smudge BAD", "BAD", bad))
		ana.git.Filters = func() []Filter { return []Filter{{Name: "f", Clean: bad, Smudge: bad}} }
		if boxed {
			ana.git.Inside = func(string) (*sandbox.Box, string, error) { return box, indexes, nil }
		}
		ctx := t.Context()
		testkit.Must(t, os.WriteFile(filepath.Join(ana.Top, "x.f"), []byte("4\n"), 0o600))
		state(t, ana)
		_, err = ana.State(ctx, outside)
		testkit.Must(t, err)
		changed, err := ana.Differing(ctx, outside, "HEAD")
		testkit.Must(t, err)
		if len(changed) != 1 || changed[0] != "x.f" {
			t.Errorf("boxed %v: changed %q", boxed, changed)
		}
		head, err := ana.CommitAll(ctx, Commit{Message: "all"}, nil)
		testkit.Must(t, err)
		_, err = ana.Publish(ctx, head)
		testkit.Must(t, err)
		// What upload-pack reads is held, too: here objects of a repository that the copy borrows from.
		private := testkit.Folder(t)
		testkit.Shell(t, private, "git init -q . && echo KEY >key && git add key && git commit -qm key")
		testkit.Shell(t, ana.Top, "echo "+private+"/.git/objects >>.git/objects/info/alternates")
		theirs := strings.TrimSpace(testkit.Shell(t, private, "git rev-parse HEAD"))
		if err := r.Fetch(ctx, ana, theirs, "refs/covey/in/stolen"); (err == nil) == boxed {
			t.Errorf("boxed %v: a commit of another repository of the operator's came by the copy: %v", boxed, err == nil)
		}
		if dirty, err := ana.Dirty(ctx); err != nil || len(dirty) > 0 {
			t.Errorf("boxed %v: after the commit %q, %v", boxed, dirty, err)
		}
		if exists(ran) == boxed || exists(outside) == boxed {
			t.Errorf("boxed %v: the filter reached what is outside: %v, and git an index there: %v", boxed, exists(ran), exists(outside))
		}
	}
}
