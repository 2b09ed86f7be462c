package rules

import (
	"slices"
	"strings"
)

// wrapper says where the command is among a wrapper's arguments.
type wrapper struct {
	short    string   // the letters of options with a value
	long     []string // the long options whose value is the next word
	operands int      // the words before the command: the time of timeout, the host of ssh
	assigns  bool     // NAME=value may precede the command
	appends  bool     // words that it reads are appended to the command
	shell    bool     // without a command it starts a shell
}

// wrapperOf returns the most common wrappers. For others each argument may be the command
// (tails).
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "env":
		return wrapper{short: "uCS", long: []string{"unset", "chdir", "split-string"}, assigns: true}, true
	case "sudo", "doas":
		return wrapper{short: "aCcDghpRrtTUu", long: []string{"user", "group", "prompt", "host", "chdir",
			"role", "type", "other-user", "chroot", "close-from", "command-timeout"}, assigns: true}, true
	case "exec":
		return wrapper{short: "a"}, true
	case "command", "builtin", "nohup", "setsid", "busybox", "toybox":
		return wrapper{}, true
	case "time":
		return wrapper{short: "fo", long: []string{"format", "output"}}, true
	case "nice":
		return wrapper{short: "n", long: []string{"adjustment"}}, true
	case "ionice":
		return wrapper{short: "cnpPu", long: []string{"class", "classdata"}}, true
	case "timeout":
		return wrapper{short: "ks", long: []string{"kill-after", "signal"}, operands: 1}, true
	case "stdbuf":
		return wrapper{short: "ioe", long: []string{"input", "output", "error"}}, true
	case "xargs":
		return wrapper{short: "aEILnPsd", long: []string{"arg-file", "delimiter", "max-args", "max-procs",
			"max-chars", "process-slot-var"}, appends: true}, true
	case "watch":
		return wrapper{short: "nqs", long: []string{"interval", "equexit"}}, true
	case "ssh":
		return wrapper{short: "BbcDEeFIiJLlmOoPpQRSWw", operands: 1, shell: true}, true
	case "chroot":
		return wrapper{long: []string{"groups", "userspec"}, operands: 1, shell: true}, true
	}
	return wrapper{}, false
}

// wrapped records the command that a wrapper starts, and what that starts in turn.
func (w *walker) wrapped(c command, depth int) {
	name := c.program()
	if name == "find" {
		w.findExec(c, depth)
		return
	}
	if name == "parallel" {
		w.parallel(c, depth)
		return
	}
	shape, known := wrapperOf(name)
	switch {
	case !known && anyWrapper(name):
		// Its options are not known, so an unknown argument may be the command.
		w.line.doubtful = w.line.doubtful || slices.ContainsFunc(c.words[1:],
			func(w word) bool { return !w.static })
		return
	case !known || name == "command" && lists(c):
		return
	}
	at, options := shape.commandAt(c.words)
	if slices.ContainsFunc(options, func(o word) bool { return o.splits && !o.static }) {
		w.line.doubtful = true // a command may be among them
		return
	}
	if name == "env" && w.splitString(c, depth) {
		return
	}
	if at >= len(c.words) {
		opens := name == "sudo" && slices.ContainsFunc(options, func(o word) bool {
			return o.value == "-s" || o.value == "-i" || o.value == "--shell" || o.value == "--login"
		})
		if shape.shell || opens {
			w.input(c)
		}
		return
	}
	started := command{words: c.words[at:], input: c.input, given: c.given}
	if shape.appends {
		started = started.filled(replacement(options)).with(anyWords())
	}
	w.startedBy(started, depth)
}

// startedBy records a command after a wrapper.
func (w *walker) startedBy(c command, depth int) {
	w.line.started = append(w.line.started, c)
	if len(c.words) > 0 {
		w.starts(c, depth+1)
	}
}

// lists reports whether `command` only prints where a program is (command -v).
func lists(c command) bool {
	return len(c.words) > 1 && (c.words[1].value == "-v" || c.words[1].value == "-V")
}

// commandAt returns where the command begins, and the words before it.
func (s wrapper) commandAt(words []word) (at int, before []word) {
	operands := s.operands
	i := 1
	for ; i < len(words); i++ {
		arg := words[i].value
		switch {
		case words[i].splits:
			return i, words[1 : i+1]
		case arg == "--":
		case len(arg) > 1 && arg[0] == '-':
			i += s.value(arg)
		case s.assigns && assignment(arg):
		case operands > 0:
			operands--
		default:
			return i, words[1:i]
		}
	}
	return i, words[1:min(i, len(words))]
}

// value returns 1 if an option's value is the next word, else 0.
func (s wrapper) value(option string) int {
	if long, ok := strings.CutPrefix(option, "--"); ok {
		if slices.Contains(s.long, long) {
			return 1
		}
		return 0
	}
	// In -abc, b and c are options too, unless a has a value, which is bc then.
	if i := strings.IndexAny(option[1:], s.short); i >= 0 && i == len(option)-2 {
		return 1
	}
	return 0
}

// assignment reports whether a word is NAME=value.
func assignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/ \x00")
}

// splitString handles env -S, whose value is words of the command.
func (w *walker) splitString(c command, depth int) bool {
	for i, arg := range c.words[1:] {
		text, rest := "", c.words[i+2:]
		switch short := strings.IndexByte(arg.value, 'S'); {
		case strings.HasPrefix(arg.value, "--split-string="):
			text = strings.TrimPrefix(arg.value, "--split-string=")
		case arg.value == "--split-string" || short == len(arg.value)-1 && plainFlags(arg.value):
			if len(rest) == 0 {
				return false
			}
			text, rest = rest[0].value, rest[1:]
		case short > 0 && plainFlags(arg.value[:short+1]):
			text = arg.value[short+1:]
		default:
			if !strings.HasPrefix(arg.value, "-") && !assignment(arg.value) {
				return false
			}
			continue
		}
		if strings.ContainsRune(text, unknown) || strings.ContainsAny(text, `$\`) {
			w.line.doubtful = true
			return true
		}
		words := []word{{value: "env", static: true}}
		for _, field := range strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(text)) {
			words = append(words, word{value: field, static: true})
		}
		w.startedBy(command{words: append(words, rest...), input: c.input, given: c.given}, depth)
		return true
	}
	return false
}

// plainFlags reports whether a word is short options of env, the last -S.
func plainFlags(text string) bool {
	return strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Trim(text, "-iv0S") == ""
}

// replacement returns the text that xargs replaces in the command by its input.
func replacement(options []word) string {
	for i, o := range options {
		switch {
		case o.value == "-I" && i+1 < len(options):
			return options[i+1].value
		case strings.HasPrefix(o.value, "-I"):
			return o.value[2:]
		case strings.HasPrefix(o.value, "--replace="):
			return strings.TrimPrefix(o.value, "--replace=")
		case o.value == "-i" || o.value == "--replace":
			return "{}"
		case strings.HasPrefix(o.value, "-i"):
			return o.value[2:]
		}
	}
	return ""
}

// filled returns the command with a text replaced by something unknown.
func (c command) filled(text string) command {
	if text == "" {
		return c
	}
	c.words = slices.Clone(c.words)
	for i, w := range c.words {
		if strings.Contains(w.value, text) {
			c.words[i].value = strings.ReplaceAll(w.value, text, string(unknown))
			c.words[i].static = false
		}
	}
	return c
}

// findExec handles the commands that find runs for files.
func (w *walker) findExec(c command, depth int) {
	for i := 1; i < len(c.words); i++ {
		if c.words[i].splits {
			w.line.doubtful = true // -exec may be in it
			return
		}
		switch c.words[i].value {
		case "-exec", "-execdir", "-ok", "-okdir":
			from := i + 1
			for i++; i < len(c.words) && c.words[i].value != ";"; i++ {
				if c.words[i].value == "+" && c.words[i-1].value == "{}" {
					break
				}
			}
			w.startedBy(command{words: c.words[from:min(i, len(c.words))]}.filled("{}"), depth)
		}
	}
}

// parallel handles the commands of GNU parallel: one to which it appends words, or each word
// after ::: as a script.
func (w *walker) parallel(c command, depth int) {
	i := slices.IndexFunc(c.words, func(w word) bool { return strings.HasPrefix(w.value, ":::") })
	if i < 0 {
		i = len(c.words)
	}
	for at := 1; at < i; at++ {
		if arg := c.words[at]; !arg.static {
			w.line.doubtful = true
		} else if !strings.HasPrefix(arg.value, "-") {
			w.line.started = append(w.line.started,
				command{words: c.words[at:i]}.filled("{}").with(anyWords()))
		}
	}
	for _, arg := range c.words[min(i+1, len(c.words)):] {
		w.script(arg.value, true)
	}
	if i == 1 || i == len(c.words) && len(c.words) == 1 {
		w.line.doubtful = w.line.doubtful || i == len(c.words) // its commands come from elsewhere
	}
}

// codeFor returns the text in a command that an interpreter of another language runs; empty
// if there is none.
func (c command) codeFor(name, line string) string {
	if !interprets(name) {
		return ""
	}
	var code []string
	operands := 0
	for _, arg := range c.words[1:] {
		code = append(code, arg.value)
		if arg.value != "-" {
			operands++
		}
	}
	switch {
	case c.given:
		code = append(code, c.input)
	case operands == 0:
		code = append(code, line) // perhaps another part of the line writes it
	}
	return strings.Join(code, "\n")
}

// interprets reports whether a program runs code of a language other than the shell's in
// its arguments.
func interprets(name string) bool {
	switch strings.TrimRight(name, "0123456789.") {
	case "python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "awk",
		"gawk", "mawk", "nawk", "tclsh", "expect", "osascript", "pwsh", "powershell", "Rscript", "julia",
		"guile", "emacs", "vim", "vi", "nvim", "ex", "ed", "gdb", "sqlite", "make", "gmake", "tmux", "screen":
		return true
	}
	return false
}
