package rules

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
)

// errUnreadable is why a command line cannot be judged.
var errUnreadable = errors.New("the command line cannot be read")

// askShell answers a question about a Bash call.
func (r Rule) askShell(c Call, q question) bool {
	line, err := readLine(c)
	if err != nil {
		return q.doubt()
	}
	switch q {
	case permitting:
		return line.certain && len(line.commands) > 0 &&
			!slices.ContainsFunc(line.commands, func(c command) bool { return !shellMatch(r.Spec, c.source) })
	case firing:
		return r.firesOn(line)
	}
	_, yes := r.catchesIn(line)
	return yes
}

// readLine parses the command of a Bash call.
func readLine(c Call) (*shellLine, error) {
	var input struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(c.Input, &input) != nil {
		return nil, errUnreadable
	}
	return parseLine(input.Command, 0)
}

// firesOn reports whether a hook's `if` matches a command of the line, one that a wrapper
// starts, or, if the rule names more than a program, anything that only the shell knows
// (HOOKS.md section 4). A compound command with $() in it is too much for recorded hosts: every
// rule for Bash fires (section 12, point 9).
func (r Rule) firesOn(line *shellLine) bool {
	if line.nests || line.substitutes && strings.ContainsAny(strings.TrimRight(r.Spec, "*: "), " \t") {
		return true
	}
	return slices.ContainsFunc(line.all(), func(c command) bool {
		if shellMatch(r.Spec, c.text()) {
			return true
		}
		if !plainWrapper(c.program()) {
			return false
		}
		return slices.ContainsFunc(c.tails(), func(t command) bool { return shellMatch(r.Spec, t.text()) })
	})
}

// shellMatch reports whether text, one command with single blanks between its words, may
// match a Bash specifier. A blank and * at its end, or the older :*, match the end of the
// program's name or any arguments.
func shellMatch(spec, text string) bool {
	spec = strings.Join(strings.Fields(spec), " ")
	if bare, ok := strings.CutSuffix(spec, ":*"); ok {
		spec = bare + " *"
	}
	if bare, ok := strings.CutSuffix(spec, " *"); ok && mayFit(bare, text) {
		return true
	}
	return mayFit(spec, text)
}

// command is one simple command of a line.
type command struct {
	source string // its words as written, separated by single blanks
	words  []word
	input  string // what a here-document or here-string gives it to read
	given  bool   // there is such an input
	// guessed says that it is from an argument that may be a script or anything else: only
	// what is plain in it counts.
	guessed bool
}

// word is one word of a command after the shell's quoting. Parts that only the shell knows
// are unknown.
type word struct {
	value  string
	static bool // nothing in it is unknown
	splits bool // it may expand to any number of words
}

// all returns the commands of the line and of the scripts in it.
func (l *shellLine) all() []command { return slices.Concat(l.commands, l.inner) }

// text returns the command as the shell will see it.
func (c command) text() string {
	values := make([]string, len(c.words))
	for i, w := range c.words {
		values[i] = w.value
	}
	return strings.Join(values, " ")
}

// program returns the name of the program that the command starts, without its folder;
// empty if it is not known.
func (c command) program() string {
	if len(c.words) == 0 || !c.words[0].static {
		return ""
	}
	return path.Base(c.words[0].value)
}

// tails returns the commands that c may start if it is a plainWrapper: its words from each one
// on that could name a program.
func (c command) tails() []command {
	var tails []command
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		if strings.HasPrefix(w.value, "-") {
			continue
		}
		tails = append(tails, command{words: c.words[i:]})
	}
	return tails
}

// plainWrapper reports whether a program starts the command that follows it and changes
// nothing else. `if` only looks through these, as the original does.
func plainWrapper(program string) bool {
	switch program {
	case "timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "xargs":
		return true
	}
	return false
}
