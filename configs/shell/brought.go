package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Brought lists the files of the workspace that a line runs.
type Brought struct {
	Files   []string
	Folders []string // of which some unknown files run
}

// file adds a file once.
func (b *Brought) file(path string) {
	if !slices.Contains(b.Files, path) {
		b.Files = append(b.Files, path)
	}
}

// Line returns the files of the workspace that a shell line runs: programs wherever
// they are named, and files that are arguments of an interpreter. cwd is the line's
// directory, relative to the workspace.
func (p Place) Line(line, cwd string) Brought {
	var b Brought
	r, ok := p.read(line, p.folder(cwd))
	if !ok {
		r.texts = []string{line}
	}
	for _, c := range r.commands {
		p.addCommand(&b, c)
	}
	for _, word := range r.loose {
		p.addWord(&b, word, r.dirs, role{})
	}
	for _, text := range r.texts {
		c := simple{dirs: r.dirs}
		for _, word := range shellWords(text) {
			c.words = append(c.words, literalToken(word))
		}
		p.addCommand(&b, c)
	}
	return b
}

// Words is Line for a program and its arguments, which no shell evaluates.
func (p Place) Words(words []string, cwd string) Brought {
	var b Brought
	c := simple{dirs: []string{p.folder(cwd)}}
	for i, word := range words {
		word = p.filled(word)
		c.words = append(c.words, literalToken(word))
		if i > 0 && words[i-1] == "-c" {
			inner := p.Line(word, cwd)
			b.Files, b.Folders = append(b.Files, inner.Files...), append(b.Folders, inner.Folders...)
		}
	}
	p.addCommand(&b, c)
	return b
}

// folder returns the directory of a hook's command.
func (p Place) folder(cwd string) string { return resolved(p.Workspace, cwd) }

// literalToken returns a word that has only its literal meaning.
func literalToken(text string) token { return token{meanings: []string{text}, literal: text} }

// addCommand adds the files that one command runs.
func (p Place) addCommand(b *Brought, c simple) {
	command := true
	var given interpreterArgs
	for _, word := range c.words {
		interpreted := given.next(word.literal)
		p.addWord(b, word, c.dirs, role{interpreted, command})
		if given.module {
			given.module = false
			path := strings.ReplaceAll(word.literal, ".", "/")
			for _, file := range []string{path + ".py", path + "/__main__.py", path + "/__init__.py"} {
				p.addWord(b, literalToken(file), c.dirs, role{interpreted: true})
			}
		}
		if _, value, ok := strings.Cut(word.literal, "="); ok {
			p.addWord(b, literalToken(value), c.dirs, role{interpreted: given.family != "" && !given.done})
		}
		if !strings.HasPrefix(word.literal, "-") {
			command = command && startsOthers(word.literal)
		}
	}
}

// role is the role of a word in its command.
type role struct {
	interpreted bool // it is the argument of an interpreter
	command     bool // it is in the position of the program
}

// addWord adds the files that a word names: programs always, other files only if an
// interpreter gets them, and a folder if the files that run in it are unknown.
func (p Place) addWord(b *Brought, word token, dirs []string, is role) {
	for _, meaning := range word.meanings {
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

// interpreterArgs tracks the arguments of an interpreter.
type interpreterArgs struct {
	family string // of the interpreter; empty if there was none yet
	value  bool   // the next word is an option's value
	module bool   // the last word was the name of a Python module
	done   bool   // its script has been found
}

// next processes a word. It reports whether the interpreter runs or loads the word
// if it is a file.
func (g *interpreterArgs) next(word string) bool {
	switch {
	case g.family == "" || g.done:
		if isInterpreter(word) || filters(word) {
			*g = interpreterArgs{family: interpreterOf(word)}
		}
		return false
	case g.value:
		g.value = false
		return true
	case len(word) > 1 && word[0] == '-' || g.family == "sh" && len(word) > 1 && word[0] == '+':
		g.value = takesValue(g.family, word)
		if g.family == "python" && word == "-m" {
			g.family = "module"
		}
		return false
	case g.family == "module":
		g.module, g.done = true, true
		return false
	case filters(g.family):
		g.done = true
		return false
	}
	g.done = true
	return true
}

// interpreterOf returns the family of an interpreter.
func interpreterOf(word string) string {
	switch name := strings.TrimRight(filepath.Base(word), "0123456789."); name {
	case "bash", "dash", "zsh", "ksh", "fish", "source", "": // the empty name is the command "."
		return "sh"
	case "pypy":
		return "python"
	case "bun", "deno":
		return "node"
	case "gawk", "mawk", "nawk":
		return "awk"
	default:
		return name
	}
}

// filters reports whether a program runs the file of its option -f, and processes
// its other files.
func filters(program string) bool {
	switch interpreterOf(program) {
	case "awk", "sed", "jq":
		return true
	}
	return false
}

// takesValue reports whether the word after an option is its value.
func takesValue(family, option string) bool {
	letters := map[string]string{
		"sh": "oOc", "python": "XWQc", "node": "rCep", "perl": "Iex", "ruby": "IreCE", "awk": "fvFiEel", "sed": "fe",
		"jq": "fL", "php": "dcfrzS", "lua": "le", "make": "fCIoW",
	}[family]
	if name, ok := strings.CutPrefix(option, "--"); ok {
		return slices.Contains([]string{"rcfile", "init-file", "require", "import", "loader",
			"experimental-loader", "eval",
			"print", "conditions", "env-file", "file", "from-file", "include", "expression"}, name)
	}
	return strings.ContainsRune(letters, rune(option[len(option)-1]))
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
