package configs

import (
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// maxMeanings is the maximum number of values of a variable and of folders.
const maxMeanings = 64

// reader expands the words of a line as far as that is possible before it runs. A word may
// have several meanings, for example because a variable has several values in a loop; all
// of them count.
type reader struct {
	place  ScriptPlace
	line   *shell.Line
	dirs   []string // folders in which the line may run
	values map[string][]string
	depth  int // the number of lines around this one
}

// newReader returns a reader for a line that runs in dir.
func (p ScriptPlace) newReader(line *shell.Line, dir string) *reader {
	return &reader{place: p, line: line, dirs: []string{dir}, values: map[string][]string{}}
}

// set records the values that a variable may have.
func (r *reader) set(s shell.Set) {
	for _, meaning := range r.meanings(s.Value) {
		if len(r.values[s.Name]) < maxMeanings && !slices.Contains(r.values[s.Name], meaning) {
			r.values[s.Name] = append(r.values[s.Name], meaning)
		}
	}
}

// meanings returns the texts that a word may become.
func (r *reader) meanings(w shell.Word) []string {
	return w.Expand(shell.Env{Values: r.variable, Output: r.output})
}

// variable returns the values that a variable may have.
func (r *reader) variable(name string) []string {
	values := slices.Clone(r.values[name])
	switch {
	case name == "PWD", slices.Contains(rootNames(), name):
		values = append(values, r.place.Workspace)
	case name == "HOME":
		if home, err := os.UserHomeDir(); err == nil {
			values = append(values, home)
		}
	}
	return values
}

// output returns what a command writes whose output is known.
func (r *reader) output(command string) string {
	if command == "pwd" || command == "git rev-parse --show-toplevel" {
		return r.place.Workspace
	}
	return ""
}

// folders returns the folders in which a command may run: after the cd commands before it,
// or after some of them.
func (r *reader) folders(index int) []string {
	if index == 0 {
		return r.dirs
	}
	f := r.line.Folders[index]
	before := r.folders(f.From)
	dirs := slices.Clone(before)
	for _, to := range r.meanings(f.To) {
		for _, dir := range before {
			if dir = texts.Absolute(dir, to); len(dirs) < maxMeanings && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// allFolders returns the folders in which any command of the line may run.
func (r *reader) allFolders() []string {
	var all []string
	for i := range r.line.Folders {
		for _, dir := range r.folders(i) {
			if len(all) < maxMeanings && !slices.Contains(all, dir) {
				all = append(all, dir)
			}
		}
	}
	return all
}

// unknown reports whether only the shell will know a part of a text.
func unknown(text string) bool { return strings.ContainsRune(text, shell.Unknown) }
