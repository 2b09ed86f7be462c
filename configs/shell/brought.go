package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Brought is what the workspace brings of what a line runs.
type Brought struct {
	Files   []string
	Folders []string // what of them runs cannot be told
}

// file adds a file once.
func (b *Brought) file(path string) {
	if !slices.Contains(b.Files, path) {
		b.Files = append(b.Files, path)
	}
}

// Line finds what the workspace brings of what a shell line runs: programs
// wherever they are named, and files that an interpreter is given. cwd is where it
// starts, from the workspace.
func (p Place) Line(line, cwd string) Brought {
	var b Brought
	r, ok := p.read(line, p.folder(cwd))
	if !ok {
		r.texts = []string{line}
	}
	for _, c := range r.commands {
		p.commandBrings(&b, c)
	}
	for _, word := range r.loose {
		p.wordBrings(&b, word, r.dirs, role{})
	}
	for _, text := range r.texts {
		c := simple{dirs: r.dirs}
		for _, word := range shellWords(text) {
			c.words = append(c.words, saying(word))
		}
		p.commandBrings(&b, c)
	}
	return b
}

// Words is Line for a program and its arguments, which no shell reads.
func (p Place) Words(words []string, cwd string) Brought {
	var b Brought
	c := simple{dirs: []string{p.folder(cwd)}}
	for i, word := range words {
		for _, name := range []string{"CLAUDE_PROJECT_DIR", "COVEY_WORKSPACE"} {
			word = strings.NewReplacer("${"+name+"}", p.Workspace, "$"+name, p.Workspace).Replace(word)
		}
		c.words = append(c.words, saying(word))
		if i > 0 && words[i-1] == "-c" {
			inner := p.Line(word, cwd)
			b.Files, b.Folders = append(b.Files, inner.Files...), append(b.Folders, inner.Folders...)
		}
	}
	p.commandBrings(&b, c)
	return b
}

// folder is where a hook's command runs.
func (p Place) folder(cwd string) string { return resolved(p.Workspace, cwd) }

// saying is a word that means itself.
func saying(text string) token { return token{meanings: []string{text}, literal: text} }

// commandBrings looks at the words of one command.
func (p Place) commandBrings(b *Brought, c simple) {
	command := true
	var given givenTo
	for _, word := range c.words {
		interpreted := given.next(word.literal)
		p.wordBrings(b, word, c.dirs, role{interpreted, command})
		if given.module {
			given.module = false
			path := strings.ReplaceAll(word.literal, ".", "/")
			for _, file := range []string{path + ".py", path + "/__main__.py", path + "/__init__.py"} {
				p.wordBrings(b, saying(file), c.dirs, role{interpreted: true})
			}
		}
		if _, value, ok := strings.Cut(word.literal, "="); ok {
			p.wordBrings(b, saying(value), c.dirs, role{interpreted: given.family != "" && !given.done})
		}
		if !strings.HasPrefix(word.literal, "-") {
			command = command && startsOthers(word.literal)
		}
	}
}

// role is what a word is to a command.
type role struct {
	interpreted bool // an interpreter gets it
	command     bool // it stands where the program does
}

// wordBrings adds what a word names: programs always, other files only if an
// interpreter gets them, and a folder if what is run in it cannot be told.
func (p Place) wordBrings(b *Brought, word token, dirs []string, is role) {
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
			for _, file := range programsIn(folder) { // members work in the rest of it
				b.file(file)
			}
		}
	}
}

// givenTo follows the words that an interpreter gets.
type givenTo struct {
	family string // the interpreter; empty: none yet
	value  bool   // the next word is an option's value
	module bool   // the last word was the name of a Python module
	done   bool   // its script was seen
}

// next takes a word, and reports whether the interpreter runs or loads it if it is
// a file.
func (g *givenTo) next(word string) bool {
	switch {
	case g.family == "" || g.done:
		if isInterpreter(word) || filters(word) {
			*g = givenTo{family: interpreterOf(word)}
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

// interpreterOf names the family of an interpreter.
func interpreterOf(word string) string {
	switch name := strings.TrimRight(filepath.Base(word), "0123456789."); name {
	case "bash", "dash", "zsh", "ksh", "fish", "source", "": // the last is the command "."
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

// filters reports whether a program runs a file that its option -f names, and works
// on those that it is given.
func filters(program string) bool {
	switch interpreterOf(program) {
	case "awk", "sed", "jq":
		return true
	}
	return false
}

// takesValue reports whether the word behind an option is its value.
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

// programsIn are the programs that lie in a folder, not below it.
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

// shellWords cuts a command line into words, roughly: quotes are taken off
// and whatever separates commands separates words. It serves to find file
// names, where a word too many does no harm.
func shellWords(command string) []string {
	command = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(command)
	return strings.FieldsFunc(command, func(r rune) bool {
		return strings.ContainsRune(" \t\r\n;&|()<>`=", r)
	})
}
