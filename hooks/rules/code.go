package rules

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// interpreter says which words of a program are code of a language other than the shell's.
type interpreter struct {
	short string   // the letters of options whose value is code
	long  []string // the long options, and words, whose value is code
	args  bool     // any word may be code
	open  bool     // its code may start a program by the program's name alone
}

// interpreterOf returns the program's entry in the table of interpreters.
func interpreterOf(name string) (interpreter, bool) {
	switch strings.TrimRight(name, "0123456789.") {
	case "python", "pypy", "guile":
		return interpreter{short: "c"}, true
	case "perl", "julia":
		return interpreter{short: "eE", long: []string{"eval", "print"}}, true
	case "ruby", "lua", "luajit", "Rscript":
		return interpreter{short: "e"}, true
	case "node", "nodejs", "deno", "bun":
		return interpreter{short: "ep", long: []string{"eval", "print"}}, true
	case "php":
		return interpreter{short: "rBRE", long: []string{"run"}}, true
	case "awk", "gawk", "mawk", "nawk", "sqlite":
		return interpreter{args: true}, true
	case "make", "gmake":
		return interpreter{long: []string{"eval"}, open: true}, true
	case "tclsh", "expect", "osascript", "pwsh", "powershell", "emacs", "vim", "vi", "nvim", "ex", "ed", "gdb":
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
func (c command) codeFor(name, line string) string {
	in, ok := interpreterOf(name)
	if !ok || slices.ContainsFunc(c.words, func(w word) bool { return w.value == "--version" || w.value == "--help" }) {
		return ""
	}
	code, file := in.code(c.words[1:])
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
func (in interpreter) code(words []word) (code []string, file bool) {
	for i := 0; i < len(words); i++ {
		arg := words[i].value
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
			code = append(code, words[i].value)
		case arg != "-" && !strings.HasPrefix(arg, "-") && !isInput(arg):
			file = true
		}
	}
	return code, file && len(code) == 0
}
