package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// ScriptFiles lists the files of the workspace that a line runs.
type ScriptFiles struct {
	Files   []string
	Folders []string // of which some unknown files run
}

// file adds a file once.
func (b *ScriptFiles) file(path string) {
	if !slices.Contains(b.Files, path) {
		b.Files = append(b.Files, path)
	}
}

// Line returns the files of the workspace that a shell line runs: programs wherever
// they are named, and files that are arguments of an interpreter. cwd is the line's
// directory, relative to the workspace.
func (p ScriptPlace) Line(line, cwd string) ScriptFiles {
	var b ScriptFiles
	read, err := shell.Read(line)
	if err != nil {
		read = shell.Args(shellWords(line))
	}
	p.newReader(read, texts.Absolute(p.Workspace, cwd)).bring(&b)
	return b
}

// Words is Line for a program and its arguments, which no shell evaluates.
func (p ScriptPlace) Words(words []string, cwd string) ScriptFiles {
	var b ScriptFiles
	words = slices.Clone(words)
	for i, word := range words {
		words[i] = p.filled(word)
	}
	p.newReader(shell.Args(words), texts.Absolute(p.Workspace, cwd)).bring(&b)
	return b
}

// bring adds the files that the line runs.
func (r *reader) bring(b *ScriptFiles) {
	sets := slices.SortedStableFunc(slices.Values(r.line.Sets), func(a, b shell.Set) int { return a.Value.At - b.Value.At })
	for _, c := range r.line.Of(shell.Written) {
		for len(sets) > 0 && sets[0].Value.At < c.Words[0].At {
			r.set(sets[0])
			sets = sets[1:]
		}
		r.command(b, c)
		r.inner(b, c)
	}
	for _, s := range sets {
		r.set(s)
	}
	dirs := r.allFolders()
	for _, s := range r.line.Sets {
		r.place.addWord(b, r.meanings(s.Value), dirs, role{})
	}
	for _, text := range r.line.Texts { // it may be a script
		inner := r.place.newReader(shell.Args(shellWords(strings.Join(r.meanings(text), "\n"))), "")
		inner.dirs = dirs
		inner.bring(b)
	}
}

// command adds the files that one command runs.
func (r *reader) command(b *ScriptFiles, c shell.Command) {
	loads := make([]shell.LoadKind, len(c.Words))
	for _, l := range c.Loads() {
		loads[l.Word] = l.Kind
	}
	dirs, program := r.folders(c.Folder), true
	for i, word := range c.Words {
		interpreted := loads[i] != shell.Data && loads[i] != shell.Module
		r.place.addWord(b, r.meanings(word), dirs, role{interpreted, program})
		if loads[i] == shell.Module {
			path := strings.ReplaceAll(word.Literal(), ".", "/")
			r.place.addWord(b, []string{path + ".py", path + "/__main__.py", path + "/__init__.py"}, dirs, role{interpreted: true})
		}
		if _, value, ok := strings.Cut(word.Literal(), "="); ok {
			r.place.addWord(b, []string{value}, dirs, role{interpreted: interpreted})
		}
		if text := word.Literal(); !strings.HasPrefix(text, "-") { // options may precede the program
			program = program && (startsHere(text) || beforeProgram(text))
		}
	}
}

// inner adds the files that scripts in a command's arguments run: sh -c './gate.sh --fast'.
func (r *reader) inner(b *ScriptFiles, c shell.Command) {
	if len(c.Words) < 2 || r.depth > 3 {
		return
	}
	script := slices.ContainsFunc(c.Words, func(w shell.Word) bool { return w.Literal() == "-c" || w.Literal() == "eval" })
	for _, word := range c.Words[1:] {
		for _, meaning := range r.meanings(word) {
			if !script && (unknown(meaning) || !strings.ContainsAny(meaning, " \t\n;&|")) {
				continue
			}
			meaning = strings.ReplaceAll(meaning, string(shell.Unknown), "${_}") // which nothing sets
			line, err := shell.Read(meaning)
			if err != nil {
				line = shell.Args(shellWords(meaning))
			}
			in := reader{place: r.place, line: line, dirs: r.folders(c.Folder), values: r.values, depth: r.depth + 1}
			in.bring(b)
		}
	}
}

// role is the role of a word in its command.
type role struct {
	interpreted bool // it is the argument of an interpreter
	command     bool // it is in the position of the program
}

// addWord adds the files that the meanings of a word name: programs always, other files
// only if an interpreter gets them, and a folder if the files that run in it are unknown.
func (p ScriptPlace) addWord(b *ScriptFiles, meanings, dirs []string, is role) {
	for _, meaning := range meanings {
		files, folders := p.files(meaning, dirs)
		for _, file := range files {
			if is.interpreted || IsProgram(file) {
				b.file(file)
			}
		}
		if !is.interpreted && !is.command {
			continue
		}
		for _, folder := range folders {
			if folder != p.Workspace && folder != p.Spec {
				b.Folders = append(b.Folders, folder)
				continue
			}
			for _, file := range programsIn(folder) { // members change the other files
				b.file(file)
			}
		}
	}
}

// files returns the regular files that one meaning of a word names, relative to
// each of dirs. If a part of the path is unknown, it returns the folder before that
// part in folders.
func (p ScriptPlace) files(meaning string, dirs []string) (files, folders []string) {
	for _, dir := range dirs {
		path := texts.Absolute(dir, meaning)
		if fixed, _, unknown := strings.Cut(path, string(shell.Unknown)); unknown {
			if i := strings.LastIndexByte(meaning, '/'); strings.HasPrefix(meaning, string(shell.Unknown)) || i < 0 ||
				!strings.Contains(fixed, string(filepath.Separator)) {
				continue
			}
			folder := filepath.Clean(fixed[:strings.LastIndexByte(fixed, filepath.Separator)+1])
			if info, err := os.Stat(folder); err == nil && info.IsDir() && p.Brings(folder) {
				folders = append(folders, folder)
			}
			continue
		}
		found := []string{path}
		if strings.ContainsAny(meaning, "*?[{") {
			found, _ = doublestar.FilepathGlob(path, doublestar.WithFilesOnly())
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && p.Brings(path) {
				files = append(files, path)
			}
		}
	}
	return files, folders
}

// programsIn returns the programs directly in a folder.
func programsIn(folder string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if path := filepath.Join(folder, e.Name()); e.Type().IsRegular() && IsProgram(path) {
			found = append(found, path)
		}
	}
	return found
}

// shellWords roughly splits a command line into words: it removes quotes, and
// splits at everything that separates commands. It serves to find file names, where
// extra words do no harm.
func shellWords(command string) []string {
	command = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(command)
	return strings.FieldsFunc(command, func(r rune) bool {
		return strings.ContainsRune(" \t\r\n;&|()<>`=", r)
	})
}
