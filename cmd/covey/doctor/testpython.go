package doctor

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/settings"
)

const (
	python     = "python3"
	pytest     = "pytest"
	pytestLine = python + " -m " + pytest + " -q"
	// probeLimit is the time limit for asking an interpreter for a module.
	probeLimit = 10 * time.Second
	// maxLock is the maximum size of a lock file that is read, in bytes.
	maxLock = 16 << 20
)

// pythonFiles lists the files that identify a Python project.
func pythonFiles() []string {
	return []string{"pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini", "requirements.txt"}
}

// pythonTests holds the test files of a Python project, relative to it.
type pythonTests struct {
	all      []string // files that pytest finds by name
	unittest []string // those that unittest also finds and can run
}

var importsUnittest = notation.Pattern(`(?m)^[ \t]*(import|from)[ \t]+([\w. ,]+,[ \t]*)?(unittest|django\.test)\b`)

// plainPath matches paths that need no quotes in a shell or in YAML. Other files
// are ignored.
var plainPath = notation.Pattern(`^[\w.][\w./-]*$`)

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
	for _, name := range pythonFiles() {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			found = name
			break
		}
	}
	// The environment that a lock file describes has the tests' modules, and is made by worktree.setup.
	for _, manager := range []string{"uv", "poetry"} {
		lock, err := settings.ReadBounded(filepath.Join(dir, manager+".lock"), maxLock)
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
		if text, err := settings.ReadBounded(path, maxManifest); first && err == nil && importsUnittest().Match(text) {
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
