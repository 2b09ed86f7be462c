package merging

import (
	"path"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
)

// scriptsIn finds the words of a shell command line that name scripts by a relative
// path: commands with a slash, and arguments of interpreters. A line that does not
// parse has none; the shell will report it.
func scriptsIn(line string) []shell.Word {
	read, err := shell.ReadSh(line)
	if err != nil {
		return nil
	}
	return scriptsOf(read)
}

// scriptsOf is scriptsIn for a line that has been read.
func scriptsOf(line *shell.Line) []shell.Word {
	var found []shell.Word
	for _, c := range line.Commands {
		if c.Guessed || len(c.Words) == 0 {
			continue
		}
		script := c.Words[0]
		if loads := c.Loads(); len(loads) > 0 && loads[0].By == 0 {
			script = scriptAmong(c, loads)
		} else if !strings.Contains(script.Value, "/") {
			continue
		}
		if at := script.Literal(); script.End > 0 && at != "" && !path.IsAbs(at) && !strings.HasPrefix(at, "~") {
			found = append(found, script)
		}
	}
	slices.SortFunc(found, func(a, b shell.Word) int { return a.At - b.At })
	return found
}

// scriptAmong returns the script that a command's interpreter runs; the zero Word if the
// program is in the line, or is a module.
func scriptAmong(c shell.Command, loads []shell.Load) (script shell.Word) {
	for _, l := range loads {
		switch l.Kind {
		case shell.Code, shell.Module:
			return shell.Word{}
		case shell.Script, shell.Perhaps:
			if l.By == 0 {
				script = c.Words[l.Word]
			}
		}
	}
	return script
}

// replaced returns a command line with some words replaced by other paths.
func replaced(line string, words []shell.Word, with map[string]string) string {
	for _, w := range slices.Backward(words) {
		if to := with[w.Value]; to != "" {
			line = line[:w.At] + shell.Quote(to) + line[w.End:]
		}
	}
	return line
}
