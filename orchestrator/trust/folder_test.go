package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folderItem takes in a plugin's folder.
func folderItem(t *testing.T, dir string) Item {
	t.Helper()
	item := Item{Run: Run{Kind: Plugin, Path: dir}}
	if err := item.read(); err != nil {
		t.Fatal(err)
	}
	return item
}

// TestTrustFolder: any byte of a plugin that could run changes what is trusted,
// and what programs write into it when they run does not.
func TestTrustFolder(t *testing.T) {
	dir, away := t.TempDir(), t.TempDir()
	put(t, dir, "hooks/hooks.json", "{}")
	put(t, dir, "hooks/check.py", "print(1)\nprint(2)\n")
	put(t, away, "lib/real.sh", "one\n")
	for name, target := range map[string]string{"linked": filepath.Join(away, "lib"), "loop": dir, "nowhere": filepath.Join(away, "none")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	before := folderItem(t, dir)
	if len(before.Files) != 4 {
		t.Errorf("files %+v", before.Files)
	}
	for _, name := range []string{"hooks/__pycache__/check.cpython-312.pyc", "hooks/check.pyc", ".git/hooks/post-commit",
		"node_modules/.cache/x", "sub/node_modules/.cache/y", "hooks/.DS_Store"} {
		put(t, dir, name, "written by a run")
		if now := folderItem(t, dir); now.Hash != before.Hash {
			t.Errorf("%s counts: %s", name, folderDiff(before, now))
		}
	}
	for name, c := range map[string]struct{ dir, file, text, want string }{
		"changed": {dir, "hooks/check.py", "print(1)\nprint(3)\n", "-print(2)\n+print(3)"},
		"new":     {dir, "hooks/other.sh", "evil\n", "new file hooks/other.sh\n+evil"},
		"by link": {away, "lib/real.sh", "two\n", "-one\n+two"},
		"orphan":  {dir, "hooks/json.pyc", "\x00", "new file hooks/json.pyc"},
		"module":  {dir, "node_modules/x/index.js", "evil()\n", "new file node_modules/x/index.js"},
		"target":  {away, "none", "there\n", "nowhere"},
	} {
		was := folderItem(t, dir)
		old, err := os.ReadFile(filepath.Join(c.dir, c.file))
		put(t, c.dir, c.file, c.text)
		now := folderItem(t, dir)
		if diff := textDiff(was, now); now.Hash == was.Hash || !strings.Contains(diff, c.want) {
			t.Errorf("%s: the difference is %q, want %q in it", name, diff, c.want)
		}
		if err != nil {
			if err := os.Remove(filepath.Join(c.dir, c.file)); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, c.dir, c.file, string(old))
		}
	}
	if now := folderItem(t, dir); now.Hash != before.Hash {
		t.Errorf("all is as it was, and differs: %s", folderDiff(before, now))
	}
}

// TestTrustFolderRemoved: a file that is gone is a difference, too.
func TestTrustFolderRemoved(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.sh", "a\n")
	put(t, dir, "b.sh", "b\n")
	before := folderItem(t, dir)
	if err := os.Remove(filepath.Join(dir, "b.sh")); err != nil {
		t.Fatal(err)
	}
	now := folderItem(t, dir)
	if diff := textDiff(before, now); now.Hash == before.Hash || diff != "removed file b.sh\n" {
		t.Errorf("difference %q", diff)
	}
}

// TestTrustFolderSize: a folder that nobody could look through cannot be trusted.
func TestTrustFolderSize(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "large")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxFolderBytes+1); err != nil {
		t.Fatal(err)
	}
	item := Item{Run: Run{Kind: Plugin, Path: dir}}
	if err := item.read(); !errors.Is(err, errFolderSize) {
		t.Errorf("error %v", err)
	}
}

// TestTrustPlugin: a team with a plugin is asked about again when one byte of the
// plugin changes, and not when a run has left its cache there.
func TestTrustPlugin(t *testing.T) {
	dir, load := trustRig(t)
	put(t, dir, "team.yaml", trustFiles["team.yaml"]+"plugins: [plugin]\n")
	put(t, dir, "plugin/hooks/hooks.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/check.py"}]}]}}`)
	put(t, dir, "plugin/check.py", "print(1)\n")
	mustTrust(t, load())
	put(t, dir, "plugin/__pycache__/check.pyc", "cache")
	if !mustCheck(t, load()).Trusted {
		t.Error("a cache takes trust away")
	}
	put(t, dir, "plugin/check.py", "print(2)\n")
	report := mustCheck(t, load())
	if report.Trusted || len(report.Changes) != 1 || report.Changes[0].Kind != ItemChanged ||
		!strings.Contains(report.Changes[0].Diff, "+print(2)") {
		t.Errorf("%+v", report.Changes)
	}
}
