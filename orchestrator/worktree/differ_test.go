package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
)

// differing is what Differing finds, as one line.
func differing(t *testing.T, r *Repo, index, base string) string {
	t.Helper()
	list, err := r.Differing(t.Context(), index, base)
	testkit.Must(t, err)
	return strings.Join(list, " ")
}

// TestDiffering: whatever somebody does to the files, staged, committed or neither, is
// found against the commit that was named, and the copy's own index is left alone.
func TestDiffering(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"nothing":            {`true`, ""},
		"touched":            {`touch a`, ""},
		"changed":            {`echo 4 >>a`, "a"},
		"same size and time": {`touch -r a ../ref; printf '1\n2\n4\n' >a; touch -r ../ref a`, "a"},
		"staged":             {`echo 4 >>a; git add a`, "a"},
		"staged and back":    {`echo 4 >>a; git add a; printf '1\n2\n3\n' >a`, ""},
		"committed":          {`echo 4 >>a; git commit -qam more`, "a"},
		"committed and back": {`echo 4 >>a; git commit -qam more; git checkout -q HEAD~1 -- a`, ""},
		"new":                {`mkdir -p d/e; echo x >d/e/f`, "d/e/f"},
		"ignored":            {`echo x >x.log`, ""},
		"deleted":            {`rm a`, "a"},
		"renamed":            {`mv a b`, "a b"},
		"mode":               {`chmod +x a`, "a"},
		"link":               {`rm a; ln -s /etc/passwd a`, "a"},
		"another commit":     {`git checkout -q --orphan o; git rm -qrf .; echo b >b; git add b; git commit -qm b`, ".gitignore a b"},
		"own repository":     {`git init -q own; echo x >own/x`, "own/"},
		"conflict":           {`git checkout -q -b o; echo o >a; git commit -qam o; git checkout -q main; echo m >a; git commit -qam m; git merge -q o || true`, "a"},
		"marked":             {`git update-index --assume-unchanged a; echo evil >>a`, "a"},
		"left out":           {`git update-index --skip-worktree a; echo evil >>a`, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, index := newRepo(t), filepath.Join(testkit.Folder(t), "index")
			base := testkit.Shell(t, r.Top, "git rev-parse HEAD")
			kept := filepath.Join(testkit.Folder(t), "index")
			differing(t, r, kept, base)
			testkit.Shell(t, r.Top, tt.script)
			before := testkit.Shell(t, r.Top, `git status --porcelain; cksum <.git/index; find .git/objects -type f | wc -l`)
			if got := differing(t, r, index, base); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if got := differing(t, r, kept, base); got != tt.want {
				t.Errorf("with an index from before: %q, want %q", got, tt.want)
			}
			if after := testkit.Shell(t, r.Top, `git status --porcelain; cksum <.git/index; find .git/objects -type f | wc -l`); after != before {
				t.Errorf("the copy has changed: %s, was %s", after, before)
			}
		})
	}
}

// TestDifferingPlaces: without a commit all is new, in a folder only what lies there
// counts, what is not written out is not gone, and a torn index is made again.
func TestDifferingPlaces(t *testing.T) {
	t.Parallel()
	r, index := newRepo(t), filepath.Join(testkit.Folder(t), "index")
	if got := differing(t, r, index, ""); got != ".gitignore a" {
		t.Errorf("without a commit: %q", got)
	}
	testkit.Shell(t, r.Top, `mkdir in out; echo i >in/f; echo o >out/f; git add -A; git commit -qm two; echo more >>in/f; echo more >>out/f; echo n >in/n`)
	head := testkit.Shell(t, r.Top, "git rev-parse HEAD")
	in := open(t, filepath.Join(r.Top, "in"))
	if got := differing(t, in, index, head); got != "f n" {
		t.Errorf("in a folder: %q", got)
	}
	testkit.Must(t, os.WriteFile(index, []byte("DIRC garbage"), 0o600))
	if got := differing(t, r, index, head); got != "in/f in/n out/f" {
		t.Errorf("with a torn index: %q", got)
	}
	testkit.Shell(t, r.Top, `git checkout -q .; rm in/n; git sparse-checkout set in; echo more >>in/f`)
	for _, index := range []string{index, filepath.Join(testkit.Folder(t), "index")} {
		if got := differing(t, open(t, r.Top), index, head); got != "in/f" {
			t.Errorf("sparse: %q", got)
		}
	}
}

// TestDifferingIsCheap: in a large repository git reads no file that is the same, also
// the first time. Run with -v for the times.
func TestDifferingIsCheap(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it makes many files")
	}
	r, index := newRepo(t), filepath.Join(testkit.Folder(t), "index")
	files := 300
	if os.Getenv("COVEY_TEST_LARGE") != "" {
		files = 100_000
	}
	for i := range files {
		dir := filepath.Join(r.Top, fmt.Sprint("d", i/100))
		testkit.Must(t, os.MkdirAll(dir, 0o755))
		testkit.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(fmt.Sprint("file ", i)), 0o644))
	}
	testkit.Shell(t, r.Top, `git add -A; git commit -qm many; sleep 0.01; git update-index -q --refresh; echo x >>d0/7`)
	head := testkit.Shell(t, r.Top, "git rev-parse HEAD")
	for _, when := range []string{"the first time", "later"} {
		began := time.Now()
		if got := differing(t, r, index, head); got != "d0/7" {
			t.Errorf("%s: %q", when, got)
		}
		t.Logf("%d files, %s: %v", files, when, time.Since(began).Round(time.Millisecond))
	}
}
