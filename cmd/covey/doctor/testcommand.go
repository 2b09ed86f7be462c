package doctor

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// maxManifest is the maximum size of a project file that is read, in bytes.
const maxManifest = 1 << 20

// toolchain recognizes one kind of project by its file.
type toolchain struct {
	file string
	// command returns the test command for a project in dir with this manifest, or ""
	// if the project has no tests that could run.
	command func(dir string, manifest []byte) string
}

// toolchains returns the toolchains in the order in which they are tried. A
// Makefile, which is written for one project, takes precedence over what a kind of
// project has in common.
func toolchains() []toolchain {
	always := func(command string) func(string, []byte) string {
		return func(string, []byte) string { return command }
	}
	return []toolchain{
		{"Makefile", makeTest},
		{"go.mod", goTest},
		{"package.json", nodeTest},
		{"Cargo.toml", always("cargo test")},
	}
}

// FoundTest is the test command of a folder.
type FoundTest struct {
	Command string // empty: none was found
	File    string // the file by which it was found
	Missing string // what it needs and is not installed, a program or a module of it; empty: nothing
	Hook    string // runs the repository's pre-commit hook; empty: it has none
}

// Gates returns the commands that can be gates here.
func (t FoundTest) Gates() (list []string) {
	if t.Command != "" && t.Missing == "" {
		list = append(list, t.Command)
	}
	if t.Hook != "" {
		list = append(list, t.Hook)
	}
	return list
}

// FindTest returns the likely test command of the project in dir, and its pre-commit hook; the zero
// FoundTest if there is neither.
func FindTest(ctx context.Context, dir string) (t FoundTest) {
	if abs, err := filepath.Abs(dir); err == nil {
		t.Command, t.File, t.Missing = testCommand(abs)
	}
	if !worktree.InRepository(dir) {
		return t
	}
	if repo, err := (worktree.Git{}).Open(ctx, dir); err == nil {
		t.Hook = repo.PreCommit(ctx)
	}
	return t
}

// testCommand returns the test command of the project in dir, and the file by which
// it was found. missing is what the command needs and is not installed: its
// program, or a module of that program.
func testCommand(dir string) (command, found, missing string) {
	for _, t := range toolchains() {
		manifest, err := settings.ReadBounded(filepath.Join(dir, t.file), maxManifest)
		if err != nil {
			continue
		}
		if command = t.command(dir, manifest); command == "" {
			continue
		}
		// Missing is only reported: the command is right for the project, and the operator
		// may install what it needs.
		program, _, _ := strings.Cut(command, " ")
		if _, err := exec.LookPath(program); err != nil {
			missing = program
		}
		return command, t.file, missing
	}
	return pythonTest(dir)
}

var makeTarget = notation.Pattern(`(?m)^test\s*:([^=]|$)`)

// makeTest returns a command if the Makefile has the target test, not only a
// variable of that name.
func makeTest(_ string, manifest []byte) string {
	if makeTarget().Match(manifest) {
		return "make test"
	}
	return ""
}

// goTest returns a command only if there is Go code, because `go test` fails
// without any.
func goTest(dir string, _ []byte) string {
	if hasGoFile(dir) {
		return "go test ./..."
	}
	return ""
}

// maxEntries limits the search for files in large folders.
const maxEntries = 20_000

// eachFile calls visit for the regular files in dir and its folders, without those that
// ignored reports, until visit returns false. It skips unreadable folders.
func eachFile(dir string, ignored func(name, path string) bool, visit func(name, path string) bool) {
	seen := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if seen++; seen > maxEntries {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil
		case entry.IsDir() && path != dir && ignored(entry.Name(), path):
			return fs.SkipDir
		case entry.Type().IsRegular() && !visit(entry.Name(), path):
			return fs.SkipAll
		}
		return nil
	})
}

// hasGoFile reports whether `./...` finds a package in dir.
func hasGoFile(dir string) (found bool) {
	eachFile(dir, ignoredByGo, func(name, _ string) bool {
		found = strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".")
		return !found
	})
	return found
}

// ignoredByGo reports whether `./...` skips a folder.
func ignoredByGo(name, path string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" {
		return true
	}
	_, err := os.Lstat(filepath.Join(path, "go.mod"))
	return err == nil
}

// nodeTest returns a command if the package has a test script other than the
// placeholder of npm.
func nodeTest(dir string, manifest []byte) string {
	var pkg struct {
		Scripts struct {
			Test string `json:"test"`
		} `json:"scripts"`
	}
	if json.Unmarshal(manifest, &pkg) != nil || pkg.Scripts.Test == "" ||
		strings.Contains(pkg.Scripts.Test, "no test specified") {
		return ""
	}
	for _, lock := range [][2]string{{"pnpm-lock.yaml", "pnpm test"}, {"yarn.lock", "yarn test"}} {
		if _, err := os.Lstat(filepath.Join(dir, lock[0])); err == nil {
			return lock[1]
		}
	}
	return "npm test"
}
