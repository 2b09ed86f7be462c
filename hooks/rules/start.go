package rules

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
func (w *walker) starts(c command, depth int) {
	name := c.program()
	if depth > maxStarts {
		w.doubt(true)
		return
	}
	switch {
	case name == "git":
		w.gitStarts(c, depth)
	case name == "eval":
		w.script(command{words: c.words[1:]}.text(), true)
	case name == "trap":
		if len(c.words) > 2 {
			w.script(c.words[1].value, c.words[1].static)
		}
	case name == "source" || name == ".":
		w.sourced(c)
	case name == "alias":
		w.aliases(c)
	case isShell(name):
		w.shell(c.words[1:], c)
	case name == "at", name == "batch", name == "crontab" && (len(c.words) < 2 || c.words[len(c.words)-1].value == "-"):
		w.input(c)
	default:
		if code := c.codeFor(name, w.line.text); code != "" {
			w.line.code = append(w.line.code, code)
		}
		w.wrapped(c, depth)
	}
}

// argument looks for a script in a word that may become a command: tmux new 'git push'.
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

// shell looks for the script in a shell's arguments.
func (w *walker) shell(args []word, c command) {
	script := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if name, value, ok := strings.Cut(arg.value, "="); ok && name == "--command" && arg.static {
			w.script(value, true)
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
			w.doubt(i < len(args) && !isFile(args[i]))
		case isOption && strings.HasPrefix(arg.value, "--"):
		case isOption:
			script = script || strings.Contains(arg.value, "c")
			i += strings.Count(arg.value, "o") + strings.Count(arg.value, "O") // each has a value
		case script && arg.static:
			w.script(arg.value, true)
			return
		case script:
			w.doubt(true)
			return
		case arg.value == "-" || isInput(arg.value):
			w.input(c)
			return
		default: // a file, whose content is not in the command line
			w.doubt(!isFile(arg) && !onlyChecks(args[:i]))
			return
		}
	}
	w.input(c)
}

// input treats what a command reads as a script. Input that is not in the line makes the
// line doubtful.
func (w *walker) input(c command) {
	if !c.given {
		w.doubt(true)
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
		w.doubt(true)
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
		w.doubt(must)
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
	line.reads, line.values = append(line.reads, inner.reads...), append(line.values, inner.values...)
	w.doubt(must && inner.doubtful)
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
		w.doubt(true)
	}
	if isCommandVariable(name) {
		w.argument(value)
	}
}

// isCommandVariable reports whether programs run the value of a variable.
func isCommandVariable(name string) bool {
	return strings.HasPrefix(name, "GIT_CONFIG_VALUE_") || slices.ContainsFunc([]string{"PAGER", "EDITOR", "VISUAL",
		"COMMAND", "BROWSER", "ASKPASS", "DIFF", "SSH", "RSH", "LESSOPEN", "LESSCLOSE", "SHELL", "PS4"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}

// isAlias reports whether a setting of git defines a subcommand.
func isAlias(key string) bool { return strings.HasPrefix(strings.ToLower(key), "alias.") }

// gitStarts handles what git starts: subcommands that a setting defines (git -c alias.p=push p,
// git config alias.p push), commands in settings (git -c core.pager=…), and those of the few
// subcommands that run some. All other words are data.
func (w *walker) gitStarts(c command, depth int) {
	at := gitSubcommand(c.words)
	for i, option := range c.words[:min(at, len(c.words))] {
		switch word := option.value; {
		case word == "-c" && i+1 < len(c.words):
			w.gitSetting(c.words[i+1])
		case strings.HasPrefix(word, "--config-env"):
			_, setting, _ := strings.Cut(command{words: c.words[i:min(i+2, len(c.words))]}.text(), "--config-env")
			w.doubt(isAlias(setting[min(1, len(setting)):]))
		}
	}
	if at >= len(c.words) {
		return
	}
	rest := c.words[at+1:]
	switch c.words[at].value {
	case "config":
		for i, arg := range rest {
			if isAlias(arg.value) && i+1 < len(rest) {
				w.gitAlias(rest[i+1])
			}
			w.argument(arg)
		}
	case "bisect":
		if len(rest) > 0 && rest[0].value == "run" {
			w.startedBy(command{words: rest[1:]}, depth)
		}
	case "submodule", "filter-branch":
		w.guess(rest, true, depth)
	case "for-each-repo":
		for i := range rest {
			w.startedBy(command{words: append([]word{{value: "git", static: true}}, rest[i:]...), guessed: true}, maxStarts-1)
		}
	case "rebase", "difftool":
		w.optionScripts(starter{none: true, scripts: []string{"x", "exec", "extcmd"}}, rest)
	default:
		w.optionScripts(starter{none: true, scripts: []string{"upload-pack", "receive-pack", "open-files-in-pager"}}, rest)
	}
}

// gitSubcommand returns where the subcommand of git is among its words; it may be beyond their end.
func gitSubcommand(words []word) int {
	at := 1
	for at < len(words) && words[at].mayBeOption() {
		if _, pair := valueOfOption("git", words[at]); pair && strings.HasPrefix(words[at].value, "-") {
			at++
		}
		at++
	}
	return at
}

// gitSetting handles the value of -c.
func (w *walker) gitSetting(setting word) {
	key, value, set := strings.Cut(setting.value, "=")
	switch {
	case setting.splits:
		w.doubt(true)
	case set && isAlias(key):
		w.gitAlias(word{value: value, static: setting.static})
	case set:
		w.argument(word{value: strings.TrimPrefix(value, "!"), static: setting.static})
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
