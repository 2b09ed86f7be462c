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

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	path := filepath.Join(testkit.Folder(t), "with space", "ana")
	if linked, err := r.LinkedCopies(ctx); err != nil || len(linked) != 0 {
		t.Errorf("before the first: %+v, %v", linked, err)
	}
	testkit.Must(t, r.AddCopy(ctx, New{Path: path, Branch: BranchName("crew", "ana"), Base: "main"}))
	ana, err := r.At(ctx, path)
	testkit.Must(t, err)
	if h, err := ana.Head(ctx); err != nil || h.Branch != "covey/crew/ana" {
		t.Errorf("%+v, %v", h, err)
	}
	copies, err := r.Copies(ctx)
	if err != nil || len(copies) != 2 || copies[1].Path != path || copies[1].Branch != "covey/crew/ana" || copies[0].Branch != "main" {
		t.Errorf("copies %+v, %v", copies, err)
	}
	if linked, err := r.LinkedCopies(ctx); err != nil || !slices.Equal(linked, copies[1:]) {
		t.Errorf("linked copies %+v, %v", linked, err)
	}
	testkit.Must(t, os.WriteFile(filepath.Join(path, "new"), nil, 0o600))
	if err := r.RemoveCopy(ctx, path); err == nil || !exists(path, "new") {
		t.Fatalf("a copy with a new file was removed: %v", err)
	}
	testkit.Must(t, r.DiscardCopy(ctx, path))
	if exists(path) {
		t.Error("the discarded copy is there")
	}
	testkit.Must(t, r.AddCopy(ctx, New{Path: path, Branch: "covey/crew/ana"}))
	testkit.Must(t, r.RemoveCopy(ctx, path))
	if _, err := r.Commit(ctx, "refs/heads/covey/crew/ana"); err != nil {
		t.Errorf("its branch: %v", err)
	}
	if _, err := r.At(ctx, newRepo(t).Top); !errors.Is(err, ErrNoRepo) {
		t.Errorf("a copy of another repository: %v", err)
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	dir := testkit.Folder(t)
	other := add(t, r, "in-use")
	tree := testkit.Shell(t, r.Top, "git branch idle; git branch flat; git rev-parse HEAD^{tree}")
	for what, c := range map[string]struct {
		n    New
		want error
	}{
		"folder is there":       {New{dir, "b1", "main"}, ErrTaken},
		"branch is there":       {New{dir + "/x", "idle", "main"}, ErrTaken},
		"branch in use":         {New{dir + "/x", "in-use", ""}, ErrTaken},
		"branch below a branch": {New{dir + "/x", "flat/er", "main"}, ErrTaken},
		"no such base":          {New{dir + "/x", "b2", "nowhere"}, ErrNoRef},
		"no such id":            {New{dir + "/x", "b2", strings.Repeat("f", 40)}, ErrNoRef},
		"the id of no commit":   {New{dir + "/x", "b2", tree}, ErrNoRef},
		"base like an option":   {New{dir + "/x", "b2", "--detach"}, ErrNoRef},
		"no such branch":        {New{dir + "/x", "b3", ""}, ErrNoRef},
	} {
		if err := r.AddCopy(ctx, c.n); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	if exists(dir, "x") || !exists(other.Top, "a") {
		t.Error("something was left, or taken away")
	}
	if copies, err := r.Copies(ctx); err != nil || len(copies) != 2 {
		t.Errorf("%+v, %v", copies, err)
	}
}

// TestAddCutOff: nothing of a copy is left whose making was cut off.
func TestAddCutOff(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	testkit.Shell(t, r.Top, `i=0; while [ $i -lt 300 ]; do echo $i >f$i; i=$((i+1)); done; git add -A; git commit -qm many`)
	path := filepath.Join(testkit.Folder(t), "x")
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for !exists(path) && ctx.Err() == nil { // as soon as git has begun
			}
			cancel()
		}()
		err := r.AddCopy(ctx, New{Path: path, Branch: "b", Base: "main"})
		cancel()
		if err == nil { // it was faster
			testkit.Must(t, r.DiscardCopy(t.Context(), path))
		}
		if exists(path) {
			t.Fatalf("half a copy is left: %v", err)
		}
		copies, err := r.Copies(t.Context())
		if err != nil || len(copies) != 1 {
			t.Fatalf("%+v, %v", copies, err)
		}
		testkit.Shell(t, r.Top, "git branch -q -D b || true; git fsck --connectivity-only")
	}
}

// TestTenAtOnce: members of a team begin together, and so may two teams.
func TestTenAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	again := open(t, r.Top) // another team's view, which shares no lock
	dir := testkit.Folder(t)
	var wg sync.WaitGroup
	for i := range 10 {
		from := []*Repo{r, again}[i%2]
		wg.Go(func() {
			n := New{Path: filepath.Join(dir, fmt.Sprint(i)), Branch: fmt.Sprintf("covey/t%d/m", i), Base: "main"}
			if err := from.AddCopy(context.WithoutCancel(t.Context()), n); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	copies, err := r.Copies(t.Context())
	if err != nil || len(copies) != 11 {
		t.Fatalf("%d copies, %v", len(copies), err)
	}
	seen := map[string]bool{}
	for i := range 10 {
		c := open(t, filepath.Join(dir, fmt.Sprint(i)))
		if seen[c.GitDir] {
			t.Errorf("two copies share %s", c.GitDir)
		}
		seen[c.GitDir] = true
	}
}

func TestGoneAndMoved(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	lost := add(t, r, "lost")
	testkit.Must(t, os.RemoveAll(lost.Top))
	copies, err := r.Copies(ctx)
	if err != nil || len(copies) != 2 || copies[1].Gone == "" {
		t.Fatalf("%+v, %v", copies, err)
	}
	testkit.Must(t, r.RemoveCopy(ctx, lost.Top)) // forgets it
	moved := add(t, r, "moved")
	to := filepath.Join(testkit.Folder(t), "elsewhere")
	testkit.Must(t, os.Rename(moved.Top, to))
	testkit.Must(t, r.RepairCopy(ctx, to))
	copies, err = r.Copies(ctx)
	if err != nil || len(copies) != 2 || copies[1].Path != to {
		t.Errorf("%+v, %v", copies, err)
	}
}

func TestParseCopies(t *testing.T) {
	t.Parallel()
	out := "worktree /a b\x00HEAD 12\x00branch refs/heads/x/y\x00\x00" +
		"worktree /line\nbreak\x00HEAD 34\x00detached\x00locked initializing\x00prunable gone\x00\x00worktree /c\x00bare\x00\x00"
	want := []Copy{
		{Path: "/a b", Head: "12", Branch: "x/y"},
		{Path: "/line\nbreak", Head: "34", Locked: true, Begun: true, Gone: "gone"},
		{Path: "/c", Bare: true},
	}
	if got := parseCopies([]byte(out)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := parseCopies([]byte("HEAD x\x00\x00")); got != nil {
		t.Errorf("%+v", got)
	}
}
