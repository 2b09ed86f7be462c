package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
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
	return []toolchain{
		{"Makefile", makeTest},
		{"go.mod", goTest},
		{"package.json", nodeTest},
		{"Cargo.toml", func(string, []byte) string { return "cargo test" }},
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
		manifest, err := texts.ReadFile(filepath.Join(dir, t.file), maxManifest)
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

var makeTarget = texts.Pattern(`(?m)^test\s*:([^=]|$)`)

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

const (
	python     = "python3"
	pytest     = "pytest"
	pytestLine = python + " -m " + pytest + " -q"
	// probeLimit is the time limit for asking an interpreter for a module.
	probeLimit = 10 * time.Second
	// maxLock is the maximum size of a lock file that is read, in bytes.
	maxLock = 16 << 20
)

// pythonTests holds the test files of a Python project, relative to it.
type pythonTests struct {
	all      []string // files that pytest finds by name
	unittest []string // those that unittest also finds and can run
}

var importsUnittest = texts.Pattern(`(?m)^[ \t]*(import|from)[ \t]+([\w. ,]+,[ \t]*)?(unittest|django\.test)\b`)

// plainPath matches paths that need no quotes in a shell or in YAML. Other files
// are ignored.
var plainPath = texts.Pattern(`^[\w.][\w./-]*$`)

// pythonTest returns the test command of the Python project in dir: pytest of the project's own
// environment if a lock file has it, pytest if it is installed or if the tests need it, or else
// unittest, which is part of Python.
// Without tests both would fail, so then there is no command.
func pythonTest(dir string) (command, found, missing string) {
	tests := findPythonTests(dir)
	if len(tests.all) == 0 {
		return "", "", ""
	}
	// Python needs no file that describes the project; without one, the first test is named
	// as the reason.
	found = tests.all[0]
	for _, name := range []string{"pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini", "requirements.txt"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			found = name
			break
		}
	}
	// The environment that a lock file describes has the tests' modules, and is made by worktree.setup.
	for _, manager := range []string{"uv", "poetry"} {
		lock, err := texts.ReadFile(filepath.Join(dir, manager+".lock"), maxLock)
		if err != nil || !bytes.Contains(lock, []byte(`name = "`+pytest+`"`)) {
			continue
		}
		if _, err := exec.LookPath(manager); err != nil {
			missing = manager
		}
		return manager + " run " + pytest + " -q", manager + ".lock", missing
	}
	_, err := exec.LookPath(python)
	switch {
	case err != nil:
		return pytestLine, found, python
	case hasPytest():
		return pytestLine, found, ""
	case len(tests.unittest) == 0:
		return pytestLine, found, pytest
	}
	return unittestLine(dir, tests.unittest), found, ""
}

// hasPytest asks the interpreter whether it has pytest. It runs in an empty folder
// that is not on the module path, because nothing of the project may run before the
// operator has trusted it.
func hasPytest() bool {
	empty, err := os.MkdirTemp("", "covey-python-")
	if err != nil {
		return false
	}
	defer os.Remove(empty)
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	ask := exec.CommandContext(ctx, python, "-c",
		"import importlib.util, sys; sys.exit(importlib.util.find_spec('"+pytest+"') is None)")
	ask.Dir = empty
	ask.Env = append(os.Environ(), "PYTHONSAFEPATH=1", "PYTHONDONTWRITEBYTECODE=1")
	ask.WaitDelay = time.Second
	return ask.Run() == nil
}

// findPythonTests finds test files as pytest does: it skips hidden folders and
// installed packages.
func findPythonTests(dir string) (tests pythonTests) {
	eachFile(dir, ignoredByPytest, func(name, path string) bool {
		stem, isPython := strings.CutSuffix(name, ".py")
		first := strings.HasPrefix(stem, "test_")
		if !isPython || !first && !strings.HasSuffix(stem, "_test") {
			return true
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || !plainPath().MatchString(filepath.ToSlash(rel)) {
			return true
		}
		tests.all = append(tests.all, rel)
		if text, err := texts.ReadFile(path, maxManifest); first && err == nil && importsUnittest().Match(text) {
			tests.unittest = append(tests.unittest, rel)
		}
		return true
	})
	return tests
}

// ignoredByPytest reports whether pytest skips a folder.
func ignoredByPytest(name, path string) bool {
	if strings.HasPrefix(name, ".") || slices.Contains([]string{"build", "dist", "node_modules", "venv",
		"_darcs", "CVS"}, name) {
		return true
	}
	_, err := os.Lstat(filepath.Join(path, "pyvenv.cfg"))
	return err == nil
}

// unittestLine returns the command that finds test files. unittest enters only
// packages, so it starts in the folder that contains the packages of the tests; of
// several such folders, in the one with the most tests.
func unittestLine(dir string, files []string) string {
	count := map[string]int{}
	best := "."
	for _, file := range files {
		start := filepath.Dir(file)
		for start != "." && isPackage(filepath.Join(dir, start)) {
			start = filepath.Dir(start)
		}
		if count[start]++; count[start] > count[best] {
			best = start
		}
	}
	if best == "." {
		return python + " -m unittest discover"
	}
	return python + " -m unittest discover -s " + filepath.ToSlash(best)
}

// isPackage reports whether a folder is a Python package.
func isPackage(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "__init__.py"))
	return err == nil
}

// FoundSetup is what fills a fresh working copy with what tests need and git does not track, such as
// node_modules.
type FoundSetup struct {
	Commands []string
	Files    []string // the files by which they were found
	Missing  []string // programs of theirs that are not installed
}

// setupCommand is the command that goes with a file of a project.
type setupCommand struct{ kind, file, command string }

// setupCommands returns the commands, the preferred one of each kind first.
func setupCommands() []setupCommand {
	return []setupCommand{
		{"git", ".gitmodules", "git submodule update --init --recursive"},
		{"node", "pnpm-lock.yaml", "pnpm install --frozen-lockfile"},
		{"node", "yarn.lock", "yarn install --frozen-lockfile"},
		{"node", "bun.lock", "bun install --frozen-lockfile"},
		{"node", "bun.lockb", "bun install --frozen-lockfile"},
		{"node", "package-lock.json", "npm ci"},
		{"node", "npm-shrinkwrap.json", "npm ci"},
		{"node", "package.json", "npm install --no-package-lock"},
		{"python", "uv.lock", "uv sync"},
		{"python", "poetry.lock", "poetry install"},
		{"python", "Pipfile.lock", "pipenv sync --dev"},
		{"ruby", "Gemfile.lock", "bundle install"},
		{"php", "composer.lock", "composer install"},
	}
}

// FindSetup returns the commands that a fresh working copy of dir's repository needs before its
// tests can run, by files of the last commit in dir and in the folders above it, where these
// programs look, too. A lock file that git ignores would be missing in the copy.
func FindSetup(ctx context.Context, dir string) (found FoundSetup) {
	repo, head, err := worktree.Git{}.OpenHead(ctx, dir)
	if err != nil || head.Commit == "" {
		return found // there can be no working copies
	}
	folders := []string{path.Clean(repo.Prefix)}
	for last := folders[0]; last != "."; folders = append(folders, last) {
		last = path.Dir(last)
	}
	kinds := map[string]bool{}
	for _, s := range setupCommands() {
		if kinds[s.kind] || !slices.ContainsFunc(folders, func(folder string) bool {
			file := path.Join(folder, s.file)
			if _, err := os.Lstat(filepath.Join(repo.Top, file)); err != nil {
				return false
			}
			data, err := repo.File(ctx, head.Commit, file)
			return err == nil && (s.file != "package.json" || hasDependencies(data))
		}) {
			continue
		}
		kinds[s.kind] = true
		found.Commands, found.Files = append(found.Commands, s.command), append(found.Files, s.file)
		program, _, _ := strings.Cut(s.command, " ")
		if _, err := exec.LookPath(program); err != nil {
			found.Missing = append(found.Missing, program)
		}
	}
	return found
}

// hasDependencies reports whether a package.json names packages to install.
func hasDependencies(manifest []byte) bool {
	var pkg struct{ Dependencies, DevDependencies map[string]any }
	return json.Unmarshal(manifest, &pkg) == nil && len(pkg.Dependencies)+len(pkg.DevDependencies) > 0
}
