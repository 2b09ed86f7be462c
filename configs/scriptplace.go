package configs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// ScriptPlace describes where the lines of a spec run, and whose files they may name.
type ScriptPlace struct {
	Workspace string
	Spec      string // the folder of the spec
}

// rootNames lists the variables that hold the workspace, for hooks of some program or for
// others.
func rootNames() []string {
	return []string{"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR", "COVEY_WORKSPACE"}
}

// filled returns a word with the workspace in place of the variables that hold it.
func (p ScriptPlace) filled(word string) string {
	for _, name := range rootNames() {
		word = strings.NewReplacer("${"+name+"}", p.Workspace, "$"+name, p.Workspace).Replace(word)
	}
	return word
}

// Own resolves a word that names a regular file in the workspace or in the spec's
// folder, also through symbolic links.
func (p ScriptPlace) Own(word, cwd string) (string, bool) {
	word = p.filled(word)
	if !filepath.IsAbs(word) {
		if !filepath.IsAbs(cwd) {
			cwd = filepath.Join(p.Workspace, cwd)
		}
		word = filepath.Join(cwd, word)
	}
	path := filepath.Clean(word)
	if !p.Brings(path) {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// Brings reports whether a path lies in the workspace or in the spec's folder, as
// written or after resolving symbolic links. Whoever works there can change the
// file.
func (p ScriptPlace) Brings(path string) bool {
	for _, dir := range []string{p.Workspace, p.Spec} {
		if texts.Within(dir, path) {
			return true
		}
		realDir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if realPath, err := filepath.EvalSymlinks(path); err == nil && texts.Within(realDir, realPath) {
			return true
		}
	}
	return false
}

// IsProgram reports whether a file is executable or begins with #!.
func IsProgram(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.Mode()&0o111 != 0 {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return !errors.Is(err, io.EOF) && string(head) == "#!"
}
