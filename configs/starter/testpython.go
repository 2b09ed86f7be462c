package starter

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/hookfiles"
)

const (
	python     = "python3"
	pytest     = "pytest"
	pytestLine = python + " -m " + pytest + " -q"
	// probeLimit is how long an interpreter may take to say what it has.
	probeLimit = 10 * time.Second
)

// pythonFiles are the files that give a Python project away.
func pythonFiles() []string {
	return []string{"pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini", "requirements.txt"}
}

// pythonTests are the test files of a Python project, relative to it.
type pythonTests struct {
	all      []string // that pytest finds by their names
	unittest []string // those of them that unittest finds and can run
}

var importsUnittest = regexp.MustCompile(`(?m)^[ \t]*(import|from)[ \t]+([\w. ,]+,[ \t]*)?(unittest|django\.test)\b`)

// plainPath matches what need not be quoted, neither for a shell nor for YAML. Files with
// other names do not count.
var plainPath = regexp.MustCompile(`^[\w.][\w./-]*$`)

// pythonTest finds how the Python project in dir is tested: with pytest if that is installed
// or if its tests need it, else with unittest, which comes with Python. Without any test
// both would fail, so then there is no command.
func pythonTest(dir string) (command, found, missing string) {
	tests := findPythonTests(dir)
	if len(tests.all) == 0 {
		return "", "", ""
	}
	found = tests.all[0]
	for _, name := range pythonFiles() {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			found = name
			break
		}
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

// hasPytest asks the interpreter whether it has pytest. It is asked in an empty folder, and
// told not to look there: nothing of the project may run before somebody has trusted it.
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

// findPythonTests looks for test files, as pytest does: not in hidden folders, and not in
// what was installed into the project.
func findPythonTests(dir string) (tests pythonTests) {
	seen := 0
	stop := errors.New("seen enough")
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if seen++; seen > maxEntries {
			return stop
		}
		if err != nil {
			return nil // a folder that cannot be read holds no test for us
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != dir && ignoredByPytest(name, path) {
				return fs.SkipDir
			}
			return nil
		}
		stem, isPython := strings.CutSuffix(name, ".py")
		first := strings.HasPrefix(stem, "test_")
		if !isPython || !entry.Type().IsRegular() || !first && !strings.HasSuffix(stem, "_test") {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || !plainPath.MatchString(filepath.ToSlash(rel)) {
			return nil
		}
		tests.all = append(tests.all, rel)
		if text, err := hookfiles.ReadBounded(path, maxManifest); first && err == nil && importsUnittest.Match(text) {
			tests.unittest = append(tests.unittest, rel)
		}
		return nil
	})
	return tests
}

// ignoredByPytest reports whether pytest does not go into a folder.
func ignoredByPytest(name, path string) bool {
	if strings.HasPrefix(name, ".") || slices.Contains([]string{"build", "dist", "node_modules", "venv",
		"_darcs", "CVS"}, name) {
		return true
	}
	_, err := os.Lstat(filepath.Join(path, "pyvenv.cfg"))
	return err == nil
}

// unittestLine is the command that finds test files. unittest goes only into packages, so it
// begins where the packages of the tests lie; of several such folders, in that with most tests.
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
