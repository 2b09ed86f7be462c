package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
)

// askShell answers a question about a Bash call.
func (r Rule) askShell(c Call, q question) bool {
	line, err := readLine(c)
	if err != nil {
		return q.doubt()
	}
	switch q {
	case permitting:
		return line.Certain && len(line.Commands) > 0 && !slices.ContainsFunc(line.Of(shell.Written),
			func(c shell.Command) bool { return !shellMatch(r.Spec, c.Source) })
	case firing:
		return r.firesOn(line)
	}
	_, yes := r.catchesIn(line)
	return yes
}

// readLine parses the command of a Bash call.
func readLine(c Call) (*shell.Line, error) {
	var input struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(c.Input, &input) != nil {
		return nil, shell.ErrUnreadable
	}
	return shell.Read(input.Command)
}

// firesOn reports whether a hook's `if` matches a command of the line, one that a wrapper
// starts, or, if the rule names more than a program, anything that only the shell knows
// (HOOKS.md section 4). A compound command with $() in it is too much for recorded hosts: every
// rule for Bash fires (section 12, point 9).
func (r Rule) firesOn(line *shell.Line) bool {
	if line.Nests || line.Substitutes && strings.ContainsAny(strings.TrimRight(r.Spec, "*: "), " \t") {
		return true
	}
	return slices.ContainsFunc(line.Of(shell.Written, shell.Scripted), func(c shell.Command) bool {
		if shellMatch(r.Spec, c.Text()) {
			return true
		}
		if !plainWrapper(c.Program()) {
			return false
		}
		return slices.ContainsFunc(tails(c), func(t shell.Command) bool { return shellMatch(r.Spec, t.Text()) })
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

// tails returns the commands that c may start if it is a plainWrapper: its words from each one
// on that could name a program.
func tails(c shell.Command) []shell.Command {
	var list []shell.Command
	for i := 1; i < len(c.Words); i++ {
		w := c.Words[i]
		if strings.HasPrefix(w.Value, "-") {
			continue
		}
		list = append(list, shell.Command{Words: c.Words[i:]})
	}
	return list
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
