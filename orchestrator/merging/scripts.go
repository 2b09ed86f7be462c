package merging

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command line that names a script.
type word struct {
	path       string // without quotes
	start, end int    // offsets in the command line, or start is the index in a list of arguments
}

// scriptsIn finds the words of a shell command line that name scripts by a relative
// path: commands with a slash, and arguments of interpreters. A line that does not
// parse has none; the shell will report it.
func scriptsIn(line string) []word {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	var found []word
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		args := make([]string, len(call.Args))
		for i, arg := range call.Args {
			args[i], _ = literal(arg)
		}
		if i, ok := scriptAt(args); ok {
			at := call.Args[i]
			found = append(found, word{args[i], int(at.Pos().Offset()), int(at.End().Offset())})
		}
		return true
	})
	slices.SortFunc(found, func(a, b word) int { return a.start - b.start })
	return found
}

// literal returns the text of a word; false if the shell would expand it.
func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// scriptAt finds the argument of a command that names a script by a relative path.
func scriptAt(args []string) (int, bool) {
	i := 0
	for i < len(args) && wraps(args[i]) {
		i++
		for i < len(args) && beforeCommand(args[i]) {
			i++
		}
	}
	if i >= len(args) {
		return 0, false
	}
	if !interprets(args[i]) {
		return i, strings.Contains(args[i], "/") && relative(args[i])
	}
	program := args[i]
	for i++; i < len(args); i++ {
		switch {
		case inlineProgram(program, args[i]):
			return 0, false
		case strings.HasPrefix(args[i], "-"):
		default:
			return i, relative(args[i])
		}
	}
	return 0, false
}

// relative reports whether a path is relative to the working directory of the command.
func relative(p string) bool { return p != "" && !path.IsAbs(p) && !strings.HasPrefix(p, "~") }

// wraps reports whether a program runs the command in its arguments.
func wraps(program string) bool {
	return slices.Contains([]string{"exec", "env", "nice", "time", "command", "nohup", "timeout"}, path.Base(program))
}

// beforeCommand reports whether an argument of a wrapper comes before the command: an
// option, a variable, a number or a duration.
func beforeCommand(arg string) bool {
	if strings.HasPrefix(arg, "-") || arg == "" {
		return true
	}
	if name, _, ok := strings.Cut(arg, "="); ok && !strings.Contains(name, "/") {
		return true
	}
	return strings.ContainsAny(arg, "0123456789") && strings.Trim(arg, "0123456789.smhd") == ""
}

// interprets reports whether a program runs the file that its arguments name.
func interprets(program string) bool {
	name := strings.TrimRight(path.Base(program), "0123456789.")
	if program == "." {
		return true
	}
	return slices.Contains([]string{
		"sh", "bash", "dash", "zsh", "ksh", "source", "python", "pypy", "node", "bun", "ruby", "perl", "php", "lua",
	}, name)
}

// inlineProgram reports whether an option of an interpreter holds the program text or
// names a module, so that no file follows. For a shell, -e has another meaning.
func inlineProgram(program, option string) bool {
	shell := strings.HasSuffix(strings.TrimRight(program, "0123456789."), "sh")
	return option == "-c" || !shell && (option == "-e" || option == "-m" || option == "-r")
}

// replaced returns a command line with some words replaced by other paths.
func replaced(line string, words []word, with map[string]string) string {
	for _, w := range slices.Backward(words) {
		if to := with[w.path]; to != "" {
			line = line[:w.start] + "'" + strings.ReplaceAll(to, "'", `'\''`) + "'" + line[w.end:]
		}
	}
	return line
}
