package shell

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Located returns a command and its arguments, with the programs of the workspace
// replaced by their paths in it (Line lists the same programs). A member may work
// in a copy of the workspace, and its copy of a script is not the trusted one. If
// args is nil, command is a line for /bin/sh; words that only the shell can expand
// stay unchanged.
func (p Place) Located(command string, args []string) (string, []string) {
	if args == nil {
		return p.LocatedLine(command), nil
	}
	words := append([]string{command}, args...)
	for i, path := range p.relative(words, "") {
		words[i] = path
	}
	return words[0], words[1:]
}

// LocatedLine is Located for a line that /bin/sh runs.
func (p Place) LocatedLine(line string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return line // the shell reports the error
	}
	var out strings.Builder
	done := 0
	dir := ""  // directory of the commands, relative to the workspace
	inner := 0 // number of nodes around the innermost subshell
	// scope holds the values of dir and inner after a node.
	type scope struct {
		dir   string
		inner int
	}
	var before []scope
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			last := before[len(before)-1]
			dir, inner, before = last.dir, last.inner, before[:len(before)-1]
			return true
		}
		before = append(before, scope{dir, inner})
		switch n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			inner = len(before)
		}
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words := make([]string, len(call.Args))
		for i, w := range call.Args {
			words[i], _ = constantWord(w)
		}
		found := p.relative(words, dir)
		if len(words) == 2 && words[0] == "cd" && words[1] != "" && !filepath.IsAbs(words[1]) {
			dir = filepath.Join(dir, words[1])
			// The new directory applies up to the end of the enclosing subshell.
			for i := inner; i < len(before); i++ {
				before[i].dir = dir
			}
		}
		for i, w := range call.Args {
			quoted, err := syntax.Quote(found[i], syntax.LangPOSIX)
			if from := int(w.Pos().Offset()); found[i] != "" && err == nil && from >= done {
				out.WriteString(line[done:from] + quoted)
				done = int(w.End().Offset())
			}
		}
		return true
	})
	return out.String() + line[done:]
}

// relative returns, by index, the paths in the workspace of those words that are
// run: the command, or the argument of an interpreter, if it is a program of the
// workspace and not an absolute path. Other words stay as they are, because they
// name the files that the command works on: `shellcheck ./deploy.sh` must check the
// member's own copy.
//
// dir is the directory of the command, relative to the workspace.
func (p Place) relative(words []string, dir string) map[int]string {
	found := map[int]string{}
	command, interpreted := true, false
	for i, word := range words {
		path, ok := p.Own(word, dir)
		switch {
		case !ok || filepath.IsAbs(word) || strings.HasPrefix(word, "$"):
		case interpreted, command && strings.Contains(word, "/") && IsProgram(path):
			found[i] = path
		}
		if !strings.HasPrefix(word, "-") { // options may precede the program
			command = command && startsOthers(word)
			interpreted = isInterpreter(word)
		}
	}
	return found
}

// startsOthers reports whether a word in the position of a command runs the words
// after it.
func startsOthers(word string) bool {
	// An assignment is an argument of env, and a number one of timeout.
	return startsByName(word) || strings.Contains(word, "=") || word != "" && strings.Trim(word, "0123456789.smhd") == ""
}

// startsByName reports whether a program runs another one that its arguments name.
func startsByName(word string) bool {
	switch word {
	case "env", "timeout", "nice", "nohup", "exec", "command", "time", "setsid":
		return true
	}
	return false
}

// constantWord returns the text of a word of a command line. ok is false if the
// text depends on the shell, because the word contains globs, a tilde, a variable
// or a command.
func constantWord(w *syntax.Word) (text string, ok bool) {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += part.Value
		case *syntax.SglQuoted:
			text += part.Value
		case *syntax.DblQuoted:
			inner, ok := constantWord(&syntax.Word{Parts: part.Parts})
			if !ok {
				return "", false
			}
			text += inner
		default:
			return "", false
		}
	}
	return text, !strings.ContainsAny(text, `\*?[~`)
}
