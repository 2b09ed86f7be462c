package rules

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxStarts bounds how many nested wrappers are followed.
const maxStarts = 8

// starts records what a command starts: the script of a shell, the command after a wrapper,
// the code of an interpreter. What cannot be seen makes the line doubtful.
func (w *walker) starts(c command, depth int) {
	name := c.program()
	if depth > maxStarts {
		w.line.doubtful = true
		return
	}
	switch {
	case name == "git":
		w.gitStarts(c)
		if !gitRuns(c) {
			return
		}
	case takesData(name):
		return
	case name == "eval":
		w.script(command{words: c.words[1:]}.text(), true)
		return
	case name == "source" || name == ".":
		w.sourced(c)
		return
	case name == "alias":
		w.aliases(c)
		return
	case isShell(name):
		w.shell(c.words[1:], c, true)
	case readsCommands(name):
		w.input(c)
	}
	if code := c.codeFor(name, w.line.text); code != "" {
		w.line.code = append(w.line.code, code)
	}
	w.wrapped(c, depth)
	if !isShell(name) {
		at := slices.IndexFunc(c.words, func(word word) bool { return word.static && isShell(word.value) })
		if at >= 0 {
			w.shell(c.words[at+1:], c, anyWrapper(name))
		}
	}
	for _, word := range c.words[1:] {
		w.argument(word)
	}
}

// argument looks for a script in an argument that may become a command: docker run x
// 'git push', tar --to-command='git push'.
func (w *walker) argument(arg word) {
	if !arg.static || !strings.ContainsAny(arg.value, " \t\n;&|") {
		return
	}
	w.script(arg.value, false)
	if name, value, ok := strings.Cut(arg.value, "="); ok && !strings.ContainsAny(name, " \t\n;&|") {
		w.script(value, false)
	}
	if len(arg.value) > 2 && arg.value[0] == '-' && arg.value[1] != '-' {
		w.script(arg.value[2:], false) // -x'git push'
	}
}

// isShell reports whether a word names a shell.
func isShell(name string) bool {
	switch path.Base(name) {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "rbash", "mksh", "yash":
		return true
	}
	return false
}

// readsCommands reports whether a program runs its input, as a shell does.
func readsCommands(name string) bool { return name == "at" || name == "batch" || name == "crontab" }

// shell looks for the script in a shell's arguments. sure is false if the name of the shell
// may be data.
func (w *walker) shell(args []word, c command, sure bool) {
	script := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if name, value, ok := strings.Cut(arg.value, "="); ok && name == "--command" && arg.static {
			w.script(value, sure)
			return
		}
		isOption := arg.static && len(arg.value) > 1 && (arg.value[0] == '-' || arg.value[0] == '+')
		switch {
		case isOption && (arg.value == "--version" || arg.value == "--help"):
			return
		case isOption && arg.value == "--command":
			script = true
		case isOption && (arg.value == "--rcfile" || arg.value == "--init-file"):
			i++
			w.line.doubtful = w.line.doubtful || sure && i < len(args) && !isFile(args[i])
		case isOption && strings.HasPrefix(arg.value, "--"):
		case isOption:
			script = script || strings.Contains(arg.value, "c")
			i += strings.Count(arg.value, "o") + strings.Count(arg.value, "O") // each has a value
		case script && arg.static:
			w.script(arg.value, sure)
			return
		case script:
			w.line.doubtful = w.line.doubtful || sure
			return
		case arg.value == "-" || isInput(arg.value):
			w.sureInput(c, sure)
			return
		default: // a file, whose content is not in the command line
			w.line.doubtful = w.line.doubtful || sure && !isFile(arg) && !onlyChecks(args[:i])
			return
		}
	}
	w.sureInput(c, sure)
}

// sureInput calls input if sure.
func (w *walker) sureInput(c command, sure bool) {
	if sure {
		w.input(c)
	}
}

// input treats what a command reads as a script. Input that is not in the line makes the
// line doubtful.
func (w *walker) input(c command) {
	if !c.given {
		w.line.doubtful = true
		return
	}
	w.script(c.input, true)
}

// onlyChecks reports whether a shell with these options does not run its script (bash -n).
func onlyChecks(options []word) bool {
	return slices.ContainsFunc(options, func(o word) bool { return o.value == "-n" })
}

// isInput reports whether a path is the standard input or a file descriptor.
func isInput(name string) bool {
	name = path.Clean(name)
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") ||
		strings.HasPrefix(name, "/proc/") && strings.Contains(name, "/fd/")
}

// isFile reports whether a word certainly names one file, even if a part of it is unknown:
// "$dir/env.sh".
func isFile(w word) bool {
	if w.static {
		return !isInput(w.value)
	}
	base := w.value[strings.LastIndexByte(w.value, '/')+1:]
	return !w.splits && strings.Contains(w.value, "/") && !strings.ContainsRune(base, unknown) &&
		base != "" &&
		base != "stdin" && strings.Trim(base, "0123456789") != ""
}

// sourced handles what . or source reads. Contents of files are not inspected.
func (w *walker) sourced(c command) {
	switch {
	case len(c.words) < 2:
	case c.words[1].static && isInput(c.words[1].value):
		w.input(c)
	case !isFile(c.words[1]):
		w.line.doubtful = true
	}
}

// aliases treats the commands that alias defines as commands with unknown arguments.
func (w *walker) aliases(c command) {
	for _, arg := range c.words[1:] {
		if _, value, ok := strings.Cut(arg.value, "="); ok {
			w.openScript(value)
		}
	}
}

// openScript adds the commands of a script whose last command gets unknown arguments.
func (w *walker) openScript(text string) {
	w.script(text, true)
	if n := len(w.line.inner); n > 0 && !strings.ContainsRune(text, unknown) {
		last := w.line.inner[n-1]
		w.line.started = append(w.line.started, last.with(anyWords()))
	}
}

// anyWords returns a word for unknown arguments.
func anyWords() word { return word{value: string(unknown), splits: true} }

// with returns the command with one more word.
func (c command) with(more word) command {
	c.words = append(slices.Clone(c.words), more)
	return c
}

// script adds the commands of a script inside the line. If must is set, the text is
// certainly a script, and the line is doubtful if it cannot be parsed.
func (w *walker) script(text string, must bool) {
	inner, err := (*shellLine)(nil), errUnreadable
	if !strings.ContainsRune(text, unknown) {
		inner, err = parseLine(text, w.depth+1)
	}
	if err != nil {
		w.line.doubtful = w.line.doubtful || must
		return
	}
	line := w.line
	for _, list := range [][]command{inner.commands, inner.inner, inner.started} {
		for i := range list {
			list[i].guessed = list[i].guessed || !must
		}
	}
	line.inner = append(append(line.inner, inner.commands...), inner.inner...)
	line.started = append(line.started, inner.started...)
	line.code = append(line.code, inner.code...)
	line.doubtful = line.doubtful || must && inner.doubtful
	line.computes = line.computes || must && inner.computes
	line.carries = line.carries || inner.carries
}

// declares handles variables that are exported to programs started later.
func (w *walker) declares(n *syntax.DeclClause) {
	for _, assign := range n.Args {
		w.assign(assign)
	}
}

// assign handles a variable of a program's environment: some programs run the value of a
// variable such as GIT_PAGER, and git reads settings from some.
func (w *walker) assign(assign *syntax.Assign) {
	if assign.Name == nil || assign.Value == nil {
		return
	}
	name, value := assign.Name.Value, valueOf(assign.Value)
	if name == "GIT_CONFIG_PARAMETERS" || strings.HasPrefix(name, "GIT_CONFIG_KEY_") &&
		(!value.static || isAlias(value.value)) {
		w.line.doubtful = true
	}
	w.argument(value)
}

// isAlias reports whether a setting of git defines a subcommand.
func isAlias(key string) bool { return strings.HasPrefix(strings.ToLower(key), "alias.") }

// gitRuns reports whether git runs commands in its arguments, which are data otherwise.
func gitRuns(c command) bool {
	return slices.ContainsFunc(c.words[1:], func(w word) bool {
		switch w.value {
		case "bisect", "submodule", "rebase", "difftool", "mergetool", "filter-branch", "for-each-repo",
			"config", "-c":
			return w.static
		}
		return false
	})
}

// gitStarts handles subcommands that are defined by a setting: git -c alias.p=push p, git
// config alias.p push.
func (w *walker) gitStarts(c command) {
	for i, arg := range c.words[1:] {
		before := c.words[i].value
		key, value, set := strings.Cut(arg.value, "=")
		switch {
		case before == "-c" && arg.splits:
			w.line.doubtful = true
		case before == "-c" && set && isAlias(key):
			w.gitAlias(word{value: value, static: arg.static})
		case strings.HasPrefix(arg.value, "--config-env") &&
			isAlias(strings.TrimPrefix(arg.value, "--config-env=")),
			before == "--config-env" && isAlias(arg.value):
			w.line.doubtful = true
		case isAlias(arg.value) && i+2 < len(c.words) && slices.ContainsFunc(c.words[:i+1],
			func(w word) bool { return w.value == "config" }):
			w.gitAlias(c.words[i+2])
		}
	}
}

// gitAlias handles the definition of a subcommand of git.
func (w *walker) gitAlias(value word) {
	if own, ok := strings.CutPrefix(value.value, "!"); ok {
		value.value = own
	} else {
		value.value = "git " + value.value
	}
	w.openScript(value.value)
}
