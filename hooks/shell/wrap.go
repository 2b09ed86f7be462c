package shell

import (
	"slices"
	"strings"
)

// wrapped records the command that a starter starts, and what that starts in turn.
func (w *walker) wrapped(c Command, depth int) {
	name := c.Program()
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
		w.guess(shape.after(c.Words), shape.lines, depth)
		return
	case shape.none:
		w.optionScripts(shape, c.Words[1:])
		return
	}
	at, options := shape.commandAt(c.Words)
	if slices.ContainsFunc(options, func(o Word) bool { return o.Splits && !o.Static }) {
		w.doubt(true) // a command may be among them
		return
	}
	if name == "env" && w.splitString(c, depth) {
		return
	}
	if w.optionScripts(shape, options) {
		return
	}
	if at >= len(c.Words) {
		opens := name == "sudo" && slices.ContainsFunc(options, func(o Word) bool {
			return o.Value == "-s" || o.Value == "-i" || o.Value == "--shell" || o.Value == "--login"
		})
		if shape.shell || opens {
			w.input(c)
		}
		return
	}
	if only := c.Words[at]; shape.joins && at == len(c.Words)-1 && only.Static {
		w.script(only.Value, true)
		return
	}
	started := Command{Words: c.Words[at:], Sets: c.Sets, input: c.input, given: c.given, Guessed: c.Guessed}
	for _, o := range options {
		if name, value, ok := strings.Cut(o.Value, "="); ok && shape.assigns && assignment(o.Value) {
			started.Sets = append(slices.Clip(started.Sets), Set{name, Word{Value: value, Static: o.Static}})
		}
	}
	if shape.appends {
		started = started.filled(replacement(options)).startedWith(anyWords())
	}
	w.builtin = slices.Contains([]string{"command", "builtin", "noglob", "nocorrect"}, name)
	w.startedBy(started, depth)
	w.builtin = false
	if shape.joins {
		w.guess(c.Words[at+1:], true, depth) // a shell reads them again
	}
}

// after returns the words that may begin a command.
func (s starter) after(words []Word) []Word {
	at := slices.IndexFunc(words[1:], func(w Word) bool { return slices.Contains(s.subs, w.Value) })
	if s.subs != nil && at < 0 {
		return nil
	}
	return words[max(at+2, 1):]
}

// guess records what words may start. What only may be a command makes nothing doubtful.
func (w *walker) guess(words []Word, lines bool, depth int) {
	line := w.line
	was := line.Doubt
	for i, arg := range words {
		if arg.Static && !strings.HasPrefix(arg.Value, "-") {
			w.startedBy(Command{Words: words[i:], Guessed: true}, depth)
		}
		if lines {
			w.argument(arg)
		}
	}
	line.Doubt = was
	w.doubt(line.started > maxStarted)
}

// optionScripts looks at the options whose value is a command line for a shell. found is false
// if there is none.
func (w *walker) optionScripts(s starter, words []Word) (found bool) {
	for i := 0; i < len(words); i++ {
		arg := words[i]
		name, value, set := strings.Cut(strings.TrimPrefix(arg.Value, "--"), "=")
		switch {
		case !strings.HasPrefix(arg.Value, "-") || len(arg.Value) < 2:
			continue
		case strings.HasPrefix(arg.Value, "--"):
		default:
			at := strings.IndexFunc(arg.Value, func(r rune) bool { return slices.Contains(s.scripts, string(r)) })
			if at < 0 {
				continue
			}
			name, value, set = arg.Value[at:at+1], arg.Value[at+1:], at+1 < len(arg.Value)
		}
		if !slices.Contains(s.scripts, name) {
			continue
		}
		text := Word{Value: value, Static: arg.Static}
		if !set {
			if i++; i >= len(words) {
				return found
			}
			text = words[i]
		}
		found = true
		if _, action, ok := strings.Cut(text.Value, "exec="); ok {
			text.Value = action // of tar's checkpoints
		}
		if text.Static {
			w.script(text.Value, true)
		} else {
			w.doubt(!s.none)
		}
	}
	return found
}

// maxStarted bounds how many commands are looked at that words may start.
const maxStarted = 2000

// startedBy records a command after a starter.
func (w *walker) startedBy(c Command, depth int) {
	if w.line.started > maxStarted {
		w.doubt(true)
		return
	}
	c.Source, c.Role = w.at, Started
	if c.Sets == nil {
		c.Sets = w.sets
	}
	w.append(c)
	if len(c.Words) > 0 {
		w.starts(c, depth+1)
	}
}

// lists reports whether `command` only prints where a program is (command -v).
func lists(c Command) bool {
	return len(c.Words) > 1 && (c.Words[1].Value == "-v" || c.Words[1].Value == "-V")
}

// commandAt returns where the command begins, and the words before it.
func (s starter) commandAt(words []Word) (at int, before []Word) {
	operands := s.operands
	i := 1
	for ; i < len(words); i++ {
		arg := words[i].Value
		switch {
		case words[i].Splits:
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
func (w *walker) splitString(c Command, depth int) bool {
	for i, arg := range c.Words[1:] {
		text, rest := "", c.Words[i+2:]
		switch short := strings.IndexByte(arg.Value, 'S'); {
		case strings.HasPrefix(arg.Value, "--split-string="):
			text = strings.TrimPrefix(arg.Value, "--split-string=")
		case arg.Value == "--split-string" || short == len(arg.Value)-1 && plainFlags(arg.Value):
			if len(rest) == 0 {
				return false
			}
			text, rest = rest[0].Value, rest[1:]
		case short > 0 && plainFlags(arg.Value[:short+1]):
			text = arg.Value[short+1:]
		default:
			if !strings.HasPrefix(arg.Value, "-") && !assignment(arg.Value) {
				return false
			}
			continue
		}
		if strings.ContainsRune(text, Unknown) || strings.ContainsAny(text, `$\`) {
			w.doubt(true)
			return true
		}
		words := []Word{static("env")}
		for _, field := range strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(text)) {
			words = append(words, static(field))
		}
		w.startedBy(Command{Words: append(words, rest...), input: c.input, given: c.given}, depth)
		return true
	}
	return false
}

// plainFlags reports whether a word is short options of env, the last -S.
func plainFlags(text string) bool {
	return strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Trim(text, "-iv0S") == ""
}

// replacement returns the text that xargs replaces in the command by its input.
func replacement(options []Word) string {
	for i, o := range options {
		switch {
		case o.Value == "-I" && i+1 < len(options):
			return options[i+1].Value
		case strings.HasPrefix(o.Value, "-I"):
			return o.Value[2:]
		case strings.HasPrefix(o.Value, "--replace="):
			return strings.TrimPrefix(o.Value, "--replace=")
		case o.Value == "-i" || o.Value == "--replace":
			return "{}"
		case strings.HasPrefix(o.Value, "-i"):
			return o.Value[2:]
		}
	}
	return ""
}

// filled returns the command with a text replaced by something Unknown.
func (c Command) filled(text string) Command {
	if text == "" {
		return c
	}
	c.Words = slices.Clone(c.Words)
	for i, w := range c.Words {
		if strings.Contains(w.Value, text) {
			c.Words[i].Value = strings.ReplaceAll(w.Value, text, string(Unknown))
			c.Words[i].Static, c.Words[i].node = false, nil
		}
	}
	return c
}

// findExec handles the commands that find runs for files.
func (w *walker) findExec(c Command, depth int) {
	for i := 1; i < len(c.Words); i++ {
		if c.Words[i].Splits {
			w.doubt(true) // -exec may be in it
			return
		}
		switch c.Words[i].Value {
		case "-exec", "-execdir", "-ok", "-okdir":
			from := i + 1
			for i++; i < len(c.Words) && c.Words[i].Value != ";"; i++ {
				if c.Words[i].Value == "+" && c.Words[i-1].Value == "{}" {
					break
				}
			}
			w.startedBy(Command{Words: c.Words[from:min(i, len(c.Words))]}.filled("{}"), depth)
		}
	}
}

// parallel handles the commands of GNU parallel: one to which it appends words, or each word
// after ::: as a script.
func (w *walker) parallel(c Command, depth int) {
	i := slices.IndexFunc(c.Words, func(w Word) bool { return strings.HasPrefix(w.Value, ":::") })
	if i < 0 {
		i = len(c.Words)
	}
	for at := 1; at < i; at++ {
		if arg := c.Words[at]; !arg.Static {
			w.doubt(true)
		} else if !strings.HasPrefix(arg.Value, "-") {
			w.append(Command{Words: c.Words[at:i]}.filled("{}").startedWith(anyWords()))
		}
	}
	for _, arg := range c.Words[min(i+1, len(c.Words)):] {
		w.script(arg.Value, true)
	}
	if i == 1 || i == len(c.Words) && len(c.Words) == 1 {
		w.doubt(i == len(c.Words)) // its commands come from elsewhere
	}
}
