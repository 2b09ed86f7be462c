package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestFindSetup finds the setup of a new working copy by files that the copy will have.
func TestFindSetup(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	deps := `{"devDependencies": {"xo": "1"}}`
	for name, test := range map[string]struct {
		files map[string]string
		dir   string
		want  []string
	}{
		"nothing":             {map[string]string{"a.txt": ""}, "", nil},
		"npm":                 {map[string]string{"package.json": deps, "package-lock.json": "{}"}, "", []string{"npm ci"}},
		"without a lock file": {map[string]string{"package.json": deps}, "", []string{"npm install --no-package-lock"}},
		"nothing to install":  {map[string]string{"package.json": `{"scripts": {}}`}, "", nil},
		"broken":              {map[string]string{"package.json": `{`}, "", nil},
		"the lock of above": {map[string]string{"a/b/package.json": deps, "pnpm-lock.yaml": ""}, "a/b",
			[]string{"pnpm install --frozen-lockfile"}},
		"not the lock of beside": {map[string]string{"a/package-lock.json": "{}", "b/x": ""}, "b", nil},
		"two of one kind": {map[string]string{"yarn.lock": "", "package-lock.json": "{}"}, "",
			[]string{"yarn install --frozen-lockfile"}},
		"several kinds": {map[string]string{"uv.lock": "", "Gemfile.lock": "", ".gitmodules": ""}, "",
			[]string{"git submodule update --init --recursive", "uv sync", "bundle install"}},
		"ignored by git": {map[string]string{".gitignore": "*.lock", "uv.lock": ""}, "", nil},
	} {
		dir := testkit.Files(t, test.files)
		git := func(args ...string) {
			t.Helper()
			args = append([]string{"-C", dir, "-c", "user.name=u", "-c", "user.email=u@x"}, args...)
			if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		at := filepath.Join(dir, test.dir)
		git("init", "-q")
		if got := FindSetup(t.Context(), at); got.Commands != nil {
			t.Errorf("%s, without a commit: %+v", name, got)
		}
		git("add", "-A")
		git("commit", "-qm", "x")
		got := FindSetup(t.Context(), at)
		if !slices.Equal(got.Commands, test.want) || len(got.Files) != len(test.want) {
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		}
	}
	if got := FindSetup(t.Context(), t.TempDir()); got.Commands != nil {
		t.Errorf("outside of a repository: %+v", got)
	}
}
