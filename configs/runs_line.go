package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// brought is what the workspace brings of what a line runs.
type brought struct {
	files   []string
	folders []string // what of them runs cannot be told
}

// file adds a file once.
func (b *brought) file(path string) {
	if !slices.Contains(b.files, path) {
		b.files = append(b.files, path)
	}
}

// lineBrings finds what the workspace brings of what a shell line runs: programs
// wherever they are named, and files that an interpreter is given. cwd is where it
// starts, from the workspace.
func (t *Team) lineBrings(line, cwd string) brought {
	var b brought
	r, ok := t.readShell(line, t.folder(cwd))
	if !ok {
		r.texts = []string{line}
	}
	for _, c := range r.commands {
		t.commandBrings(&b, c)
	}
	for _, word := range r.loose {
		t.wordBrings(&b, word, r.dirs, role{})
	}
	for _, text := range r.texts {
		c := shellCommand{dirs: r.dirs}
		for _, word := range shellWords(text) {
			c.words = append(c.words, wordSaying(word))
		}
		t.commandBrings(&b, c)
	}
	return b
}

// wordsBring is lineBrings for a program and its arguments, which no shell reads.
func (t *Team) wordsBring(words []string, cwd string) brought {
	var b brought
	c := shellCommand{dirs: []string{t.folder(cwd)}}
	for i, word := range words {
		for _, name := range []string{"CLAUDE_PROJECT_DIR", "COVEY_WORKSPACE"} {
			word = strings.NewReplacer("${"+name+"}", t.Workspace, "$"+name, t.Workspace).Replace(word)
		}
		c.words = append(c.words, wordSaying(word))
		if i > 0 && words[i-1] == "-c" {
			inner := t.lineBrings(word, cwd)
			b.files, b.folders = append(b.files, inner.files...), append(b.folders, inner.folders...)
		}
	}
	t.commandBrings(&b, c)
	return b
}

// folder is where a hook's command runs.
func (t *Team) folder(cwd string) string { return resolved(t.Workspace, cwd) }

// wordSaying is a word that means itself.
func wordSaying(text string) shellWord { return shellWord{meanings: []string{text}, literal: text} }

// commandBrings looks at the words of one command.
func (t *Team) commandBrings(b *brought, c shellCommand) {
	command := true
	var given givenTo
	for _, word := range c.words {
		interpreted := given.next(word.literal)
		t.wordBrings(b, word, c.dirs, role{interpreted, command})
		if given.module {
			given.module = false
			path := strings.ReplaceAll(word.literal, ".", "/")
			for _, file := range []string{path + ".py", path + "/__main__.py", path + "/__init__.py"} {
				t.wordBrings(b, wordSaying(file), c.dirs, role{interpreted: true})
			}
		}
		if _, value, ok := strings.Cut(word.literal, "="); ok {
			t.wordBrings(b, wordSaying(value), c.dirs, role{interpreted: given.family != "" && !given.done})
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
func (t *Team) wordBrings(b *brought, word shellWord, dirs []string, is role) {
	for _, meaning := range word.meanings {
		files, folders := t.files(meaning, dirs)
		for _, file := range files {
			if is.interpreted || isProgram(file) {
				b.file(file)
			}
		}
		if !is.interpreted && !is.command {
			continue
		}
		for _, folder := range folders {
			if folder != t.Workspace && folder != filepath.Dir(t.File) {
				b.folders = append(b.folders, folder)
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
		if path := filepath.Join(folder, e.Name()); e.Type().IsRegular() && isProgram(path) {
			found = append(found, path)
		}
	}
	return found
}
