package shell

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Located returns a command and its arguments with the programs that the workspace
// brings named by where they are there (Runs lists the same ones). A member may work in a
// copy of the workspace, and its copy of a script is not the one that was trusted. If
// args is nil, command is a line for /bin/sh; words that only the shell can expand stay
// as they are.
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
		return line // the shell says what is wrong with it
	}
	var out strings.Builder
	done := 0
	dir := ""  // where the commands run, from the workspace
	inner := 0 // how many nodes are around the innermost subshell
	// What dir and inner are after each node that is being read.
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
			// It counts for what follows, up to the end of the subshell around it.
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

// relative finds those of some words that are run: the command, or what an
// interpreter is given, if it is a program of the workspace and no absolute path;
// and where they are there, by index. Other words are what the command works on,
// which is the member's: `shellcheck ./deploy.sh` is to look at its copy.
//
// Words of other kinds stay as they are: one that is named by its place in the workspace
// though the member's own file is meant would have a check look at the wrong files.
//
// dir is the folder that they start in, from the workspace.
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
		if !strings.HasPrefix(word, "-") { // options may stand before what is run
			command = command && startsOthers(word)
			interpreted = isInterpreter(word)
		}
	}
	return found
}

// startsOthers reports whether a word in a command's place runs what follows it.
func startsOthers(word string) bool {
	// A variable for env, or the time for timeout.
	return startsByName(word) || strings.Contains(word, "=") || word != "" && strings.Trim(word, "0123456789.smhd") == ""
}

// startsByName reports whether a program runs the one that its arguments name.
func startsByName(word string) bool {
	switch word {
	case "env", "timeout", "nice", "nohup", "exec", "command", "time", "setsid":
		return true
	}
	return false
}

// constantWord is what a word of a command line means, if it means the same always.
//
// Words with globs, a tilde, a variable or a command in them mean what the shell makes
// of them at that moment; ok is false then, and the word stays as it is.
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
