package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxStarts bounds how many nested wrappers are followed.
const maxStarts = 8

// starts records what a command starts: the script of a shell, the command after a starter,
// the code of an interpreter. What cannot be seen makes the line doubtful.
func (w *walker) starts(c Command, depth int) {
	name := c.Program()
	if depth > maxStarts {
		w.doubt(true)
		return
	}
	switch {
	case name == "git":
		w.gitStarts(c, depth)
	case name == "eval":
		w.script(Command{Words: c.Words[1:]}.Text(), true)
	case name == "trap":
		if len(c.Words) > 2 {
			w.script(c.Words[1].Value, c.Words[1].Static)
		}
	case name == "source" || name == ".":
		w.sourced(c)
	case name == "alias":
		w.aliases(c)
	case IsShell(name):
		w.shell(c.Words[1:], c)
	case name == "at", name == "batch", name == "crontab" && (len(c.Words) < 2 || c.Words[len(c.Words)-1].Value == "-"):
		w.input(c)
	default:
		if code := c.codeFor(name, w.line.Text); code != "" {
			w.line.Code = append(w.line.Code, code)
		}
		w.wrapped(c, depth)
	}
}

// argument looks for a script in a word that may become a command: tmux new 'git push'.
func (w *walker) argument(arg Word) {
	if !arg.Static || !strings.ContainsAny(arg.Value, " \t\n;&|") {
		return
	}
	w.script(arg.Value, false)
	if name, value, ok := strings.Cut(arg.Value, "="); ok && !strings.ContainsAny(name, " \t\n;&|") {
		w.script(value, false)
	}
	if len(arg.Value) > 2 && arg.Value[0] == '-' && arg.Value[1] != '-' {
		w.script(arg.Value[2:], false) // -x'git push'
	}
}

// IsShell reports whether a word names a shell.
func IsShell(name string) bool {
	switch path.Base(name) {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "rbash", "mksh", "yash":
		return true
	}
	return false
}

// shell looks for the script in a shell's arguments.
func (w *walker) shell(args []Word, c Command) {
	script := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if name, value, ok := strings.Cut(arg.Value, "="); ok && name == "--command" && arg.Static {
			w.script(value, true)
			return
		}
		isOption := arg.Static && len(arg.Value) > 1 && (arg.Value[0] == '-' || arg.Value[0] == '+')
		switch {
		case isOption && (arg.Value == "--version" || arg.Value == "--help"):
			return
		case isOption && arg.Value == "--command":
			script = true
		case isOption && (arg.Value == "--rcfile" || arg.Value == "--init-file"):
			i++
			w.doubt(i < len(args) && !args[i].IsFile())
		case isOption && strings.HasPrefix(arg.Value, "--"):
		case isOption:
			script = script || strings.Contains(arg.Value, "c")
			i += strings.Count(arg.Value, "o") + strings.Count(arg.Value, "O") // each has a value
		case script && arg.Static:
			w.script(arg.Value, true)
			return
		case script:
			w.doubt(true)
			return
		case arg.Value == "-" || isInput(arg.Value):
			w.input(c)
			return
		default: // a file, whose content is not in the command line
			w.doubt(!arg.IsFile() && !onlyChecks(args[:i]))
			return
		}
	}
	w.input(c)
}

// input treats what a command reads as a script. Input that is not in the line makes the
// line doubtful.
func (w *walker) input(c Command) {
	if !c.given {
		w.doubt(true)
		return
	}
	w.script(c.input, true)
}

// onlyChecks reports whether a shell with these options does not run its script (bash -n).
func onlyChecks(options []Word) bool {
	return slices.ContainsFunc(options, func(o Word) bool { return o.Value == "-n" })
}

// sourced handles what . or source reads. Contents of files are not inspected.
func (w *walker) sourced(c Command) {
	switch {
	case len(c.Words) < 2:
	case c.Words[1].Static && isInput(c.Words[1].Value):
		w.input(c)
	case !c.Words[1].IsFile():
		w.doubt(true)
	}
}

// aliases treats the commands that alias defines as commands with Unknown arguments.
func (w *walker) aliases(c Command) {
	for _, arg := range c.Words[1:] {
		if _, value, ok := strings.Cut(arg.Value, "="); ok {
			w.openScript(value)
		}
	}
}

// openScript adds the commands of a script whose last command gets Unknown arguments.
func (w *walker) openScript(text string) {
	from := len(w.line.Commands)
	w.script(text, true)
	for _, c := range slices.Backward(w.line.Commands[from:]) {
		if c.Role == Scripted {
			w.startedBy(c.startedWith(anyWords()), 0) // the text becomes shorter each time
			return
		}
	}
}

// anyWords returns a word for Unknown arguments.
func anyWords() Word { return Word{Value: string(Unknown), Splits: true} }

// startedWith returns the command with one more word, as one that another starts.
func (c Command) startedWith(more Word) Command {
	c.Words = append(slices.Clone(c.Words), more)
	c.Role, c.call = Started, nil
	return c
}

// script adds the commands of a script inside the line. If must is set, the text is
// certainly a script, and the line is doubtful if it cannot be parsed.
func (w *walker) script(text string, must bool) {
	inner, err := (*Line)(nil), ErrUnreadable
	if !strings.ContainsRune(text, Unknown) {
		inner, err = read(text, w.depth+1, syntax.LangBash)
	}
	if err != nil {
		w.doubt(must)
		return
	}
	line := w.line
	at := len(line.Folders) - 1 // where the folders of inner are among those of line
	from := func(folder int) int {
		if folder == 0 {
			return w.folder
		}
		return at + folder
	}
	for _, c := range inner.Commands {
		if c.Role == Written {
			c.Role = Scripted
		}
		c.Guessed = c.Guessed || !must
		c.Folder, c.call = from(c.Folder), nil
		for i := range c.Words {
			c.Words[i].At, c.Words[i].End = 0, 0
		}
		line.Commands = append(line.Commands, c)
	}
	for _, f := range inner.Folders[1:] {
		line.Folders = append(line.Folders, Folder{from(f.From), f.To})
	}
	line.started += inner.started
	line.Code = append(line.Code, inner.Code...)
	line.Reads, line.Values = append(line.Reads, inner.Reads...), append(line.Values, inner.Values...)
	line.Sets, line.Texts = append(line.Sets, inner.Sets...), append(line.Texts, inner.Texts...)
	line.Functions = append(line.Functions, inner.Functions...)
	w.doubt(must && inner.Doubt != "")
	line.Computes = line.Computes || must && inner.Computes
	line.carries = line.carries || inner.carries
}

// declares handles variables that are exported to programs started later.
func (w *walker) declares(n *syntax.DeclClause) {
	for _, assign := range n.Args {
		for _, set := range appendSet(nil, assign) {
			w.assign(set)
		}
	}
}

// assign handles a variable of a program's environment: some programs run the value of a
// variable such as GIT_PAGER, and git reads settings from some.
func (w *walker) assign(set Set) {
	if set.Name == "GIT_CONFIG_PARAMETERS" || strings.HasPrefix(set.Name, "GIT_CONFIG_KEY_") &&
		(!set.Value.Static || isAlias(set.Value.Value)) {
		w.doubt(true)
	}
	if isCommandVariable(set.Name) {
		w.argument(set.Value)
	}
}

// isCommandVariable reports whether programs run the value of a variable.
func isCommandVariable(name string) bool {
	return strings.HasPrefix(name, "GIT_CONFIG_VALUE_") || slices.ContainsFunc([]string{"PAGER", "EDITOR", "VISUAL",
		"COMMAND", "BROWSER", "ASKPASS", "DIFF", "SSH", "RSH", "LESSOPEN", "LESSCLOSE", "SHELL", "PS4"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}
