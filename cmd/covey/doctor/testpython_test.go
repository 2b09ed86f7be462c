package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

const unittestFile = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(True)\n"

// pythonOnPath sets PATH so that only a python3, with or without pytest, is installed.
func pythonOnPath(t *testing.T, pytest bool) {
	t.Helper()
	text := "#!/bin/sh\nexit 1\n"
	if pytest {
		text = "#!/bin/sh\n"
	}
	bin := testkit.Files(t, map[string]string{"python3": text})
	if err := os.Chmod(filepath.Join(bin, "python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
}

// TestPythonTestCommand: with and without pytest, in projects of all layouts.
func TestPythonTestCommand(t *testing.T) {
	const discover = "python3 -m unittest discover"
	for name, test := range map[string]struct {
		files    map[string]string
		without  string // the command where pytest is not installed
		lacks    string // and what it lacks
		found    string
		noPytest bool // there is no command with pytest either
	}{
		"no tests":       {files: map[string]string{"pyproject.toml": "", "pytest.ini": "", "a.py": ""}, noPytest: true},
		"nothing else":   {map[string]string{"test_a.py": unittestFile}, discover, "", "test_a.py", false},
		"setup.py":       {map[string]string{"setup.py": "", "test_a.py": unittestFile}, discover, "", "setup.py", false},
		"setup.cfg":      {map[string]string{"setup.cfg": "", "test_a.py": unittestFile}, discover, "", "setup.cfg", false},
		"requirements":   {map[string]string{"requirements.txt": "", "test_a.py": unittestFile}, discover, "", "requirements.txt", false},
		"folder":         {map[string]string{"pyproject.toml": "", "tests/test_a.py": unittestFile}, discover + " -s tests", "", "pyproject.toml", false},
		"package":        {map[string]string{"tests/__init__.py": "", "tests/test_a.py": unittestFile}, discover, "", "tests/test_a.py", false},
		"deep package":   {map[string]string{"src/a/__init__.py": "", "src/a/b/__init__.py": "", "src/a/b/test_a.py": unittestFile}, discover + " -s src", "", "src/a/b/test_a.py", false},
		"pytest's tests": {map[string]string{"pyproject.toml": "", "test_a.py": "def test_it(): pass\n"}, pytestLine, "pytest", "pyproject.toml", false},
		"pytest's name":  {map[string]string{"a_test.py": unittestFile}, pytestLine, "pytest", "a_test.py", false},
		"both":           {map[string]string{"test_a.py": "def test_it(): pass\n", "t/test_b.py": unittestFile, "t/test_c.py": unittestFile}, discover + " -s t", "", "t/test_b.py", false},
		"others' tests":  {files: map[string]string{"venv/test_a.py": "", ".x/test_a.py": "", "env/pyvenv.cfg": "", "env/test_a.py": "", "node_modules/x/test_a.py": ""}, noPytest: true},
		"odd names":      {files: map[string]string{"a b/test_a.py": unittestFile, "-x/test_b.py": unittestFile, "$(x)/test_c.py": unittestFile}, noPytest: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := testkit.Files(t, test.files)
			pythonOnPath(t, false)
			command, found, missing := testCommand(dir)
			if command != test.without || missing != test.lacks || found != test.found {
				t.Errorf("without pytest %q by %q lacks %q", command, found, missing)
			}
			pythonOnPath(t, true)
			want := pytestLine
			if test.noPytest {
				want = ""
			}
			if command, _, missing := testCommand(dir); command != want || missing != "" {
				t.Errorf("with pytest %q lacks %q", command, missing)
			}
			t.Setenv("PATH", t.TempDir())
			if command, _, missing := testCommand(dir); command != want || want != "" && missing != python {
				t.Errorf("without Python %q lacks %q", command, missing)
			}
		})
	}
}

// TestPythonForReal: the real interpreter finds the tests with the command. It is not asked
// for pytest in the project's folder, whose files would run.
func TestPythonForReal(t *testing.T) {
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("no python3")
	}
	if hasPytest() {
		t.Skip("pytest is installed")
	}
	trap := map[string]string{
		"pytest.py": "open('ran', 'w')\n", "importlib.py": "open('ran', 'w')\n", "sitecustomize.py": "open('ran', 'w')\n",
	}
	for name, files := range map[string]map[string]string{
		"flat": {"test_a.py": unittestFile}, "folder": {"tests/test_a.py": unittestFile},
		"package": {"tests/__init__.py": "", "tests/deep/__init__.py": "", "tests/deep/test_a.py": unittestFile},
		"src":     {"src/a/__init__.py": "", "src/a/test_a.py": unittestFile},
	} {
		t.Run(name, func(t *testing.T) {
			dir := testkit.Files(t, files)
			for file, text := range trap {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			t.Setenv("PYTHONPATH", ".")
			command, _, missing := testCommand(dir)
			if _, err := os.Stat("ran"); err == nil || missing != "" {
				t.Fatalf("%q lacks %q; the project's own files ran: %t", command, missing, err == nil)
			}
			for file := range trap {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", command).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Ran 1 test") {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
		})
	}
}

// TestPythonLocked: a lock file with pytest names the environment that the tests run in.
func TestPythonLocked(t *testing.T) {
	pythonOnPath(t, false)
	for lock, want := range map[string][2]string{
		"[[package]]\nname = \"pytest\"\n": {"uv run pytest -q", "uv"},
		"[[package]]\nname = \"ruff\"\n":   {"python3 -m unittest discover", ""},
	} {
		dir := testkit.Files(t, map[string]string{"uv.lock": lock, "test_a.py": unittestFile})
		if command, _, missing := testCommand(dir); command != want[0] || missing != want[1] {
			t.Errorf("%q: %q lacks %q", lock, command, missing)
		}
	}
}
