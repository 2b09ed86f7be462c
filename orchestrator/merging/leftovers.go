package merging

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
)

// A test or a build that a member runs leaves files, too, and nothing tells them from what the
// member wants but their kind: those below are made by programs and belong in no repository. A
// member that wants one writes it by a call, or adds it with git by its name, or commits it.

// leftover reports whether a new file of a copy is of a kind that only tests and builds make. folders
// keeps what is found out about folders.
func leftover(top, file string, folders map[string]bool) bool {
	base := path.Base(file)
	switch path.Ext(file) {
	case ".pyc", ".pyo", ".class", ".gcda", ".gcno", ".profraw", ".profdata":
		return true
	}
	if base == ".coverage" || strings.HasPrefix(base, ".coverage.") ||
		slices.Contains([]string{"lcov.info", "coverage-final.json", "coverage.xml", "clover.xml"}, base) {
		return true
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		made, known := folders[dir]
		if !known {
			made = madeFolder(top, dir)
			folders[dir] = made
		}
		if made {
			return true
		}
	}
	return goProfile(filepath.Join(top, filepath.FromSlash(file)))
}

// madeFolder reports whether a folder is made by programs: by its name, or by a file that they leave in it.
func madeFolder(top, dir string) bool {
	switch base := path.Base(dir); base {
	case "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".nyc_output", "htmlcov",
		"lcov-report", ".gradle":
		return true
	default:
		if strings.HasSuffix(base, ".egg-info") {
			return true
		}
	}
	return slices.ContainsFunc([]string{
		"CACHEDIR.TAG", "pyvenv.cfg", "CMakeCache.txt", ".package-lock.json", ".modules.yaml", ".yarn-integrity", "maven-status",
	}, func(mark string) bool {
		_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir), mark))
		return err == nil
	})
}

// goProfile reports whether a file is a coverage profile of Go.
func goProfile(file string) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len("mode: atomic\n"))
	n, _ := f.Read(begin) // an empty file is none
	mode, _, whole := bytes.Cut(begin[:n], []byte("\n"))
	return whole && slices.Contains([]string{"mode: set", "mode: count", "mode: atomic"}, string(mode))
}

// wanted returns the names of files for which a call says that they are wanted: those that it writes, and
// those that it adds with git.
func wanted(c events.ToolCalled) (names []string) {
	var input map[string]any
	if json.Unmarshal(c.Input, &input) != nil {
		return nil
	}
	for key, value := range input {
		text, _ := value.(string)
		switch {
		case key == "command" && strings.Contains(text, "git add"):
			for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"", r) }) {
				names = append(names, path.Base(word))
			}
		case key != "command" && text != "" && !strings.Contains(text, "\n"):
			names = append(names, path.Base(text))
		}
	}
	return names
}
