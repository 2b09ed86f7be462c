package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// interpreter describes which words of a program are code, or files with code.
type interpreter struct {
	short  string   // the letters of options whose value is code of a language other than the shell's
	long   []string // the long options, and words, whose value is such code
	args   bool     // any word may be such code
	open   bool     // its code may start a program by the program's name alone
	values string   // the letters of options with a value
	file   LoadKind // what its first operand is
	module bool     // -m names a module
	shell  bool     // its code is that of a shell
}

// interpreterOf returns the program's entry in the table of interpreters.
func interpreterOf(name string) (interpreter, bool) {
	switch strings.TrimRight(name, "0123456789.") {
	case "python", "pypy":
		return interpreter{short: "c", values: "XWQc", file: Script, module: true}, true
	case "guile":
		return interpreter{short: "c", values: "c", file: Script}, true
	case "perl", "julia":
		return interpreter{short: "eE", long: []string{"eval", "print"}, values: "IeEx", file: Script}, true
	case "ruby":
		return interpreter{short: "e", values: "IreCE", file: Script}, true
	case "lua", "luajit", "Rscript":
		return interpreter{short: "e", values: "le", file: Script}, true
	case "node", "nodejs":
		return interpreter{short: "ep", long: []string{"eval", "print"}, values: "rCep", file: Script}, true
	case "deno", "bun":
		return interpreter{short: "ep", long: []string{"eval", "print"}, values: "rCep", file: Perhaps}, true
	case "php":
		return interpreter{short: "rBRE", long: []string{"run"}, values: "dcfrzSBRE", file: Script}, true
	case "awk", "gawk", "mawk", "nawk":
		return interpreter{args: true, values: "fvFiEel"}, true
	case "sqlite":
		return interpreter{args: true}, true
	case "make", "gmake":
		return interpreter{long: []string{"eval"}, open: true, values: "fCIoW"}, true
	case "tclsh", "expect", "osascript", "pwsh", "powershell":
		return interpreter{args: true, open: true, file: Script}, true
	case "emacs", "vim", "vi", "nvim", "ex", "ed", "gdb":
		return interpreter{args: true, open: true}, true
	}
	return interpreter{}, false
}

// starting matches code that may start a program, in the languages that need words of their own
// for that. Code without such a word only has texts.
var starting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)system|exec|spawn|open|fork|eval|import|process|function|constructor|load|compile|send|" +
		"require|\\buse\\b|shell|qx|%x|__|syscall|passthru|\\brun\\b|[|`]")
})

// codeFor returns the text in a command that an interpreter runs; empty if there is none, or if
// it can start nothing. line is the whole command line, which may write what it reads.
func (c Command) codeFor(name, line string) string {
	in, ok := interpreterOf(name)
	if !ok || slices.ContainsFunc(c.Words, func(w Word) bool { return w.Value == "--version" || w.Value == "--help" }) {
		return ""
	}
	code, file := in.code(c.Words[1:])
	switch {
	case file && !in.args:
	case c.given:
		code = append(code, c.input)
	case !file && len(code) == 0:
		code = append(code, line) // perhaps another part of the line writes it
	}
	if text := strings.Join(code, "\n"); in.open || starting().MatchString(text) {
		return text
	}
	return ""
}

// code returns the words that are code, and whether one names a file with code.
func (in interpreter) code(words []Word) (code []string, file bool) {
	for i := 0; i < len(words); i++ {
		arg := words[i].Value
		name, value, set := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		letter := -1
		if len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && in.short != "" {
			letter = strings.IndexAny(arg, in.short)
		}
		switch {
		case in.args && arg != "-":
			code, file = append(code, arg), true
		case slices.Contains(in.long, name) && set:
			code = append(code, value)
		case letter > 0 && letter < len(arg)-1:
			code = append(code, arg[letter+1:])
		case (letter > 0 || slices.Contains(in.long, name)) && i+1 < len(words):
			i++
			code = append(code, words[i].Value)
		case arg != "-" && !strings.HasPrefix(arg, "-") && !isInput(arg):
			file = true
		}
	}
	return code, file && len(code) == 0
}

// LoadKind is what a program does with a word.
type LoadKind uint8

// The kinds of Load.
const (
	Data    LoadKind = iota
	Script           // it runs the file that the word names
	Perhaps          // it runs that file, or the word is a subcommand
	Value            // the word is the value of an option, and may name a file that the program loads
	Module           // the word names a module of Python
	Code             // the word is code
)

// Load is a word of a command that an interpreter among its words runs or loads.
type Load struct {
	Word, By int // indexes of the word and of the interpreter
	Kind     LoadKind
}

// loaderOf returns what a program does with its words if it runs or loads files; a shell's own
// commands and those that run a file after `run` count, too.
func loaderOf(word string) (in interpreter, ok bool) {
	name := path.Base(word)
	in, _ = interpreterOf(name)
	switch {
	case in.values != "" || in.file != Data:
		return in, true
	case IsShell(strings.TrimRight(name, "0123456789.")):
		return interpreter{short: "c", values: "oO", file: Script, shell: true}, true
	case word == "." || name == "source":
		return interpreter{file: Script}, true
	case word == "run": // go run x.go, deno run x.ts
		return interpreter{file: Perhaps}, true
	case name == "sed":
		return interpreter{values: "fe"}, true
	case name == "jq":
		return interpreter{values: "fL"}, true
	}
	return interpreter{}, false
}

func isLoader(word string) bool {
	_, ok := loaderOf(word)
	return ok
}

// Loads returns the words of a command that interpreters among its words run or load, wherever
// these are.
func (c Command) Loads() []Load {
	var found []Load
	var in interpreter
	by, next, done := -1, Data, true
	for i, w := range c.Words {
		arg := w.Literal()
		add := func(kind LoadKind) { found = append(found, Load{Word: i, By: by, Kind: kind}) }
		switch {
		case done, in.file == Perhaps && isLoader(arg):
			if found, ok := loaderOf(arg); ok {
				in, by, next, done = found, i, Data, false
			}
		case next != Data:
			add(next)
			done, next = next == Module, Data
		case len(arg) > 1 && (arg[0] == '-' || arg[0] == '+' && in.shell):
			name, _, joined := strings.Cut(arg, "=")
			switch next = in.valueOf(name); {
			case in.joinsCode(arg):
				add(Code)
				next = Data
			case joined && next != Data: // --eval=code
				add(next)
				next = Data
			}
		default:
			if done = true; in.file != Data {
				add(in.file)
			}
		}
	}
	return found
}

// valueOf returns what the word after an option is; Data if it is no value.
func (in interpreter) valueOf(option string) LoadKind {
	if name, ok := strings.CutPrefix(option, "--"); ok {
		switch {
		case slices.Contains(in.long, name):
			return Code
		case slices.Contains([]string{"rcfile", "init-file", "require", "import", "loader", "experimental-loader", "eval", "print",
			"conditions", "env-file", "file", "from-file", "include", "expression"}, name):
			return Value
		}
		return Data
	}
	switch last := option[len(option)-1:]; {
	case in.module && option == "-m":
		return Module
	case strings.Contains(in.short, last), in.shell && strings.Contains(option, "c"):
		return Code
	case strings.Contains(in.values, last):
		return Value
	}
	return Data
}

// joinsCode reports whether an option has code behind its letter: -e'...'.
func (in interpreter) joinsCode(option string) bool {
	return !in.shell && len(option) > 2 && option[0] == '-' && option[1] != '-' && strings.Contains(in.short, option[1:2])
}
