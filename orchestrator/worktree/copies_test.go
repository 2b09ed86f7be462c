package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestOn finds the operator's working copies, of which a clone is none.
func TestOn(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	add(t, r, "covey/crew/ana")
	if linked, err := r.LinkedCopies(ctx); err != nil || len(linked) != 0 {
		t.Errorf("before the first: %+v, %v", linked, err)
	}
	path := filepath.Join(testkit.Folder(t), "with space")
	testkit.Shell(t, r.Top, "git worktree add -q -b there '"+path+"'")
	copies, err := r.Copies(ctx)
	if err != nil || len(copies) != 2 || copies[1].Path != path || copies[1].Branch != "there" || copies[0].Branch != "main" {
		t.Errorf("copies %+v, %v", copies, err)
	}
	if linked, err := r.LinkedCopies(ctx); err != nil || !slices.Equal(linked, copies[1:]) {
		t.Errorf("linked copies %+v, %v", linked, err)
	}
	if on, err := r.On(ctx, "there"); err != nil || on == nil || on.Top != path {
		t.Errorf("on there: %+v, %v", on, err)
	}
	if on, err := r.On(ctx, "covey/crew/ana"); err != nil || on != nil {
		t.Errorf("on the branch of a clone: %+v, %v", on, err)
	}
	testkit.Must(t, os.RemoveAll(path))
	if on, err := r.On(ctx, "there"); err != nil || on != nil {
		t.Errorf("in a folder that is gone: %+v, %v", on, err)
	}
	if _, err := r.At(ctx, newRepo(t).Top); !errors.Is(err, ErrNoRepo) {
		t.Errorf("a copy of another repository: %v", err)
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	dir, base := testkit.Folder(t), baseOf(t, r)
	tree := testkit.Shell(t, r.Top, "git branch idle; git branch flat; git rev-parse HEAD^{tree}")
	for what, c := range map[string]struct {
		n    New
		want error
	}{
		"folder is there":       {New{dir, "main", "b1"}, ErrTaken},
		"branch is there":       {New{dir + "/x", "main", "idle"}, ErrTaken},
		"branch below a branch": {New{dir + "/x", "main", "flat/er"}, ErrTaken},
		"no such base":          {New{dir + "/x", "nowhere", "b2"}, ErrNoRef},
		"no such id":            {New{dir + "/x", strings.Repeat("f", 40), "b2"}, ErrNoRef},
		"the id of no commit":   {New{dir + "/x", tree, "b2"}, ErrNoRef},
		"base like an option":   {New{dir + "/x", "--detach", "b2"}, ErrNoRef},
		"no such branch":        {New{dir + "/x", "", "b3"}, ErrNoRef},
	} {
		if err := base.Add(ctx, c.n); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("something was left: %v, %v", left, err)
	}
	if refs := testkit.Shell(t, r.Top, "git for-each-ref refs/covey/in"); refs != "" {
		t.Errorf("references were left: %s", refs)
	}
}

// TestAddCutOff: nothing of a copy is left whose making was cut off.
func TestAddCutOff(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	testkit.Shell(t, r.Top, `i=0; while [ $i -lt 300 ]; do echo $i >f$i; i=$((i+1)); done; git add -A; git commit -qm many`)
	dir, base := testkit.Folder(t), baseOf(t, r)
	testkit.Must(t, base.Refresh(t.Context()))
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for { // until git has begun
				if left, _ := os.ReadDir(dir); len(left) > 0 || ctx.Err() != nil {
					break
				}
			}
			cancel()
		}()
		err := base.Add(ctx, New{Path: filepath.Join(dir, "x"), Branch: "b", Commit: "main"})
		cancel()
		if err == nil { // it was faster
			testkit.Must(t, base.Discard(t.Context(), filepath.Join(dir, "x")))
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Fatalf("half a copy is left: %v, %v", left, err)
		}
		testkit.Shell(t, r.Top, "git branch -q -D b || true; git fsck --connectivity-only")
	}
}

// TestTenAtOnce: members of a team begin together, and so may two teams.
func TestTenAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	bases := []*Base{baseOf(t, r), open(t, r.Top).Base(filepath.Join(testkit.Folder(t), "base.git"), "crew-2")}
	dir := testkit.Folder(t)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			n := New{Path: filepath.Join(dir, fmt.Sprint(i)), Branch: fmt.Sprintf("covey/t%d/m", i), Commit: "main"}
			if err := bases[i%2].Add(context.WithoutCancel(t.Context()), n); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for i := range 10 {
		c, head, err := bases[i%2].Open(t.Context(), filepath.Join(dir, fmt.Sprint(i)), "")
		if err != nil || head.Branch != fmt.Sprintf("covey/t%d/m", i) || !exists(c.Top, "a") {
			t.Errorf("%d: %+v, %v", i, head, err)
		}
	}
}

func TestParseCopies(t *testing.T) {
	t.Parallel()
	out := "worktree /a b\x00HEAD 12\x00branch refs/heads/x/y\x00\x00" +
		"worktree /line\nbreak\x00HEAD 34\x00detached\x00locked\x00prunable gone\x00\x00worktree /c\x00bare\x00\x00"
	want := []Copy{
		{Path: "/a b", Head: "12", Branch: "x/y"},
		{Path: "/line\nbreak", Head: "34", Gone: "gone"},
		{Path: "/c", Bare: true},
	}
	if got := parseCopies([]byte(out)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := parseCopies([]byte("HEAD x\x00\x00")); got != nil {
		t.Errorf("%+v", got)
	}
}
