package configs

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// Located returns a command and its arguments, with the programs of the workspace
// replaced by their paths in it (Line lists the same programs). A member may work
// in a copy of the workspace, and its copy of a script is not the trusted one. If
// args is nil, command is a line for /bin/sh; words that only the shell can expand
// stay unchanged.
func (p ScriptPlace) Located(command string, args []string) (string, []string) {
	if args == nil {
		return p.LocatedLine(command), nil
	}
	words := append([]string{command}, args...)
	for _, f := range p.found(shell.Args(words)) {
		words[f.word.At] = f.path
	}
	return words[0], words[1:]
}

// LocatedLine is Located for a line that /bin/sh runs.
func (p ScriptPlace) LocatedLine(line string) string {
	read, err := shell.ReadSh(line)
	if err != nil {
		return line // the shell reports the error
	}
	for _, f := range slices.Backward(p.found(read)) {
		line = line[:f.word.At] + shell.Join([]string{f.path}) + line[f.word.End:]
	}
	return line
}

// foundWord is a word to be replaced by the path of a file of the workspace.
type foundWord struct {
	word shell.Word
	path string
}

// found returns the words of a line that are run, in their order: programs, and arguments
// of interpreters, if they are files of the workspace and not absolute paths. Other words
// stay as they are, because they name the files that the command works on: `shellcheck
// ./deploy.sh` must check the member's own copy.
func (p ScriptPlace) found(line *shell.Line) []foundWord {
	var list []foundWord
	dirs := line.Resolve("", func(dir string, to shell.Word) string { return texts.Absolute(dir, to.Value) })
	for _, c := range line.Commands {
		if c.Guessed || len(c.Words) == 0 {
			continue
		}
		if path, ok := p.ownWord(c.Words[0], dirs[c.Folder]); ok && strings.Contains(c.Words[0].Value, "/") && IsProgram(path) {
			list = append(list, foundWord{c.Words[0], path})
		}
		for _, l := range c.Loads() {
			path, ok := p.ownWord(c.Words[l.Word], dirs[c.Folder])
			if l.Kind == shell.Code {
				path = shell.Join([]string{path}) // a shell reads it again
			}
			if ok && l.Kind != shell.Module {
				list = append(list, foundWord{c.Words[l.Word], path})
			}
		}
	}
	slices.SortFunc(list, func(a, b foundWord) int { return cmp.Compare(a.word.At, b.word.At) })
	return slices.CompactFunc(list, func(a, b foundWord) bool { return a.word.At == b.word.At })
}

// ownWord returns the path of the file of the workspace that a word of the line names by a
// relative path.
func (p ScriptPlace) ownWord(w shell.Word, dir string) (path string, ok bool) {
	word := w.Literal()
	if w.End == 0 || word == "" || filepath.IsAbs(word) || strings.HasPrefix(word, "$") {
		return "", false
	}
	return p.Own(word, dir)
}
