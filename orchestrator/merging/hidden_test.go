package merging

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// TestHiddenChanges: what git does not show of a change, or shows as something else, has a hint, by the differences that
// git itself prints.
func TestHiddenChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Shell(t, dir, `git init -q -b main .; git config core.autocrlf false; git config core.symlinks true
printf 'def test_a():\n    assert f(2) == 4\n' >test_a.py; cp test_a.py test_b.py; cp test_a.py test_c.py; cp test_a.py "test_é \"q\".py"
printf 'x = 1\ny = 2\n' >crlf.py; printf '#!/bin/sh\ngo test ./...\n' >gate.sh; echo x >mode.txt; echo x >file.go; git add -A
git -c user.name=a -c user.email=a@b commit -qm base`)
	sha := strings.Repeat("1", 40)
	testkit.Shell(t, dir, `printf 'def test_a():\n    pass\0\n' >test_a.py; printf 'test_b.py -diff\n' >.gitattributes; printf 'def test_a():\n    pass\n' >test_b.py
printf 'x = 1\r\ny = 2\r\n' >crlf.py; git mv gate.sh ci.sh; printf '#!/bin/sh\ngo test ./... || true\n' >ci.sh
printf 'def test_a():\n    assert True\n' >"test_é \"q\".py"; head -c 1100000 /dev/zero | tr '\0' 'x' >big.js
git add -A; git update-index --chmod=+x mode.txt; git update-index --add --cacheinfo 160000,`+sha+`,dep
git rm -q --cached file.go; git update-index --add --cacheinfo 120000,$(printf /etc/passwd | git hash-object -w --stdin),file.go
git -c user.name=a -c user.email=a@b commit -qm work`)
	repo, err := (worktree.Git{}).Open(t.Context(), dir)
	testkit.Must(t, err)
	diff, err := repo.Diff(t.Context(), "HEAD~1", "HEAD", worktree.DiffOptions{Small: true})
	testkit.Must(t, err)
	q := queueOf(state.Place{}, func() *configs.Team { return &configs.Team{Workspace: dir, File: filepath.Join(dir, "team.yaml")} }, repo, nil)
	list, _ := q.hintsIn(Diff{Text: string(diff)}, "")
	var got []string
	for _, h := range list {
		for _, p := range h.Places {
			if h.Kind != "binary" {
				got = append(got, string(h.Kind)+" "+p.File)
			}
		}
	}
	want := []string{
		"assertions-empty test_é \"q\".py", "assertions-weakened test_é \"q\".py", "blanks-changed crlf.py", "errors-swallowed ci.sh", "file-deleted file.go", "file-deleted gate.sh", "ignored .gitattributes", "link file.go",
		"mode-changed mode.txt", "not-shown big.js", "not-shown dep", "not-shown test_a.py", "not-shown test_b.py",
	}
	if slices.Sort(got); !slices.Equal(slices.Compact(got), want) {
		t.Errorf("%q, want %q\n%s", got, want, diff[:min(len(diff), 3000)])
	}
}
