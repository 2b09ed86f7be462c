package rules

import (
	"slices"
	"strings"
)

// wrapped records the command that a starter starts, and what that starts in turn.
func (w *walker) wrapped(c command, depth int) {
	name := c.program()
	switch name {
	case "find":
		w.findExec(c, depth)
		return
	case "parallel":
		w.parallel(c, depth)
		return
	}
	shape, known := starterOf(name)
	switch {
	case !known || name == "command" && lists(c):
		return
	case shape.loose:
		w.guess(shape.after(c.words), shape.lines, depth)
		return
	case shape.none:
		w.optionScripts(shape, c.words[1:])
		return
	}
	at, options := shape.commandAt(c.words)
	if slices.ContainsFunc(options, func(o word) bool { return o.splits && !o.static }) {
		w.doubt(true) // a command may be among them
		return
	}
	if name == "env" && w.splitString(c, depth) {
		return
	}
	if w.optionScripts(shape, options) {
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
	if only := c.words[at]; shape.joins && at == len(c.words)-1 && only.static {
		w.script(only.value, true)
		return
	}
	started := command{words: c.words[at:], input: c.input, given: c.given, guessed: c.guessed}
	if shape.appends {
		started = started.filled(replacement(options)).with(anyWords())
	}
	w.startedBy(started, depth)
	if shape.joins {
		w.guess(c.words[at+1:], true, depth) // a shell reads them again
	}
}

// after returns the words that may begin a command.
func (s starter) after(words []word) []word {
	at := slices.IndexFunc(words[1:], func(w word) bool { return slices.Contains(s.subs, w.value) })
	if s.subs != nil && at < 0 {
		return nil
	}
	return words[max(at+2, 1):]
}

// guess records what words may start. What only may be a command makes nothing doubtful.
func (w *walker) guess(words []word, lines bool, depth int) {
	line := w.line
	was, part := line.doubtful, line.doubt
	for i, arg := range words {
		if arg.static && !strings.HasPrefix(arg.value, "-") {
			w.startedBy(command{words: words[i:], guessed: true}, depth)
		}
		if lines {
			w.argument(arg)
		}
	}
	line.doubtful, line.doubt = was, part
	w.doubt(len(line.started) > maxStarted)
}

// optionScripts looks at the options whose value is a command line for a shell. found is false
// if there is none.
func (w *walker) optionScripts(s starter, words []word) (found bool) {
	for i := 0; i < len(words); i++ {
		arg := words[i]
		name, value, set := strings.Cut(strings.TrimPrefix(arg.value, "--"), "=")
		switch {
		case !strings.HasPrefix(arg.value, "-") || len(arg.value) < 2:
			continue
		case strings.HasPrefix(arg.value, "--"):
		default:
			at := strings.IndexFunc(arg.value, func(r rune) bool { return slices.Contains(s.scripts, string(r)) })
			if at < 0 {
				continue
			}
			name, value, set = arg.value[at:at+1], arg.value[at+1:], at+1 < len(arg.value)
		}
		if !slices.Contains(s.scripts, name) {
			continue
		}
		text := word{value: value, static: arg.static}
		if !set {
			if i++; i >= len(words) {
				return found
			}
			text = words[i]
		}
		found = true
		if _, action, ok := strings.Cut(text.value, "exec="); ok {
			text.value = action // of tar's checkpoints
		}
		if text.static {
			w.script(text.value, true)
		} else {
			w.doubt(!s.none)
		}
	}
	return found
}

// maxStarted bounds how many commands are looked at that words may start.
const maxStarted = 2000

// startedBy records a command after a starter.
func (w *walker) startedBy(c command, depth int) {
	if len(w.line.started) > maxStarted {
		w.doubt(true)
		return
	}
	c.source = w.at
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
func (s starter) commandAt(words []word) (at int, before []word) {
	operands := s.operands
	i := 1
	for ; i < len(words); i++ {
		arg := words[i].value
		switch {
		case words[i].splits:
			return i, words[1 : i+1]
		case arg == "--" || arg == "-":
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
func (s starter) value(option string) int {
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
			w.doubt(true)
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
			w.doubt(true) // -exec may be in it
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
			w.doubt(true)
		} else if !strings.HasPrefix(arg.value, "-") {
			w.line.started = append(w.line.started,
				command{words: c.words[at:i]}.filled("{}").with(anyWords()))
		}
	}
	for _, arg := range c.words[min(i+1, len(c.words)):] {
		w.script(arg.value, true)
	}
	if i == 1 || i == len(c.words) && len(c.words) == 1 {
		w.doubt(i == len(c.words)) // its commands come from elsewhere
	}
}
