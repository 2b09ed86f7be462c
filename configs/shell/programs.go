package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Lack is a program of a shell line that cannot be run.
type Lack struct {
	Word   string // as the line has it, without quotes
	Path   string // where it should be; empty: on the PATH
	Fault  string // "is not there"
	WayOut string
}

// Lacks finds the programs of a line that /bin/sh could not run in the workspace. Only
// those count without which the line cannot succeed, and that can be told without
// running anything: what stands behind a condition may be meant for other machines.
func (at Place) Lacks(line string) []Lack {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	p := programs{
		reader: &reader{place: at, dirs: []string{at.Workspace}, values: map[string][]string{}},
		path:   filepath.SplitList(os.Getenv("PATH")), known: map[string]bool{},
	}
	p.prepare(file)
	p.statements(file.Stmts)
	return p.found
}

// programs looks for the programs of one line.
type programs struct {
	*reader
	path  []string        // folders; empty: what the shell searches is not known
	known map[string]bool // functions of the line, and what it asks for itself
	found []Lack
}

// prepare notes what holds for the whole line.
func (p *programs) prepare(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			p.known[n.Name.Value] = true
		case *syntax.Assign:
			if n.Name != nil && n.Name.Value == "PATH" {
				p.path = nil
			}
		case *syntax.CallExpr:
			words := constantWords(n)
			if len(words) > 1 && slices.Contains([]string{"command", "type", "hash", "which"}, words[0]) {
				for _, word := range words[1:] {
					p.known[word] = p.known[word] || words[0] != "command" || slices.Contains(words, "-v")
				}
			}
			if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "PATH=") }) {
				p.path = nil
			}
		}
		return true
	})
}

// constantWords are the words of a command; empty ones depend on something.
func constantWords(call *syntax.CallExpr) []string {
	words := make([]string, len(call.Args))
	for i, word := range call.Args {
		words[i], _ = constantWord(word)
	}
	return words
}

// statements looks at statements that run one after another. goOn reports that what
// follows them runs as well.
func (p *programs) statements(list []*syntax.Stmt) (goOn bool) {
	for _, stmt := range list {
		if !p.statement(stmt) {
			return false
		}
	}
	return true
}

// statement looks at one statement that is sure to run.
func (p *programs) statement(stmt *syntax.Stmt) (goOn bool) {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		p.simple(cmd)
		return !leaves(cmd)
	case *syntax.DeclClause: // export NAME=value
		for _, assign := range cmd.Args {
			p.assign(assign)
		}
		return true
	case *syntax.Block:
		return p.statements(cmd.Stmts)
	case *syntax.Subshell:
		p.statements(cmd.Stmts)
		return true
	case *syntax.TimeClause:
		return cmd.Stmt == nil || p.statement(cmd.Stmt)
	case *syntax.BinaryCmd:
		return p.both(cmd)
	}
	return !leaves(stmt)
}

// both looks at two commands that an operator joins.
func (p *programs) both(cmd *syntax.BinaryCmd) (goOn bool) {
	switch {
	case cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll:
		p.statement(cmd.X)
		p.statement(cmd.Y)
		return true
	case cmd.Op == syntax.AndStmt && !asks(cmd.X): // the line needs both
		return p.statement(cmd.X) && p.statement(cmd.Y)
	case cmd.Op == syntax.OrStmt && refuses(cmd.Y):
		p.statement(cmd.X)
		return true
	}
	return !leaves(cmd)
}

// asks reports whether a command is a condition: what follows it is meant to run on
// some machines only.
func asks(stmt *syntax.Stmt) bool {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.TestClause:
		return true
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 {
			return false
		}
		switch cmd.Args[0].Lit() {
		case "[", "test", "command", "type", "hash", "which":
			return true
		}
	case *syntax.BinaryCmd:
		return asks(cmd.Y)
	}
	return false
}

// refuses reports whether a command ends the line without success.
func refuses(stmt *syntax.Stmt) bool {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.Block:
		return len(cmd.Stmts) > 0 && refuses(cmd.Stmts[len(cmd.Stmts)-1])
	case *syntax.CallExpr:
		words := constantWords(cmd)
		return len(words) == 1 && words[0] == "false" ||
			len(words) == 2 && slices.Contains([]string{"exit", "return"}, words[0]) && words[1] != "" && words[1] != "0"
	}
	return false
}

// leaves reports whether something in a command may end the line, or bring what cannot
// be read here.
func leaves(node syntax.Node) bool {
	found := false
	syntax.Walk(node, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			switch call.Args[0].Lit() {
			case "exit", "return", "exec", ".", "source", "eval", "alias", "break", "continue":
				found = true
			}
		}
		return !found
	})
	return found
}

// assign notes the value of a variable.
func (p *programs) assign(a *syntax.Assign) {
	if a.Name != nil && a.Value != nil {
		p.set(a.Name.Value, a.Value)
	}
}

// simple looks at the program of a simple command, and at the one that this starts.
func (p *programs) simple(cmd *syntax.CallExpr) {
	for _, a := range cmd.Assigns {
		p.assign(a)
	}
	for i, arg := range cmd.Args {
		word := p.word(arg)
		first := word.meanings[0]
		switch {
		case i > 0 && strings.HasPrefix(first, "-"):
			return // which of the next words is its value cannot be told
		case i > 0 && (strings.Contains(first, "=") || first != "" && first[0] >= '0' && first[0] <= '9'):
			continue // a variable for env, or the time for timeout
		}
		p.program(word.meanings)
		if !startsByName(first) {
			break
		}
	}
	if len(cmd.Args) > 0 {
		p.call(cmd)
	}
}

// program looks for a program, whatever its word may mean.
func (p *programs) program(meanings []string) {
	var missing *Lack
	for _, word := range meanings {
		if word != "[" && word != "[[" && strings.ContainsAny(word, unknownText+"*?[{~") ||
			IsBuiltin(word) || p.known[word] {
			return
		}
		l := p.look(word)
		if l == nil {
			return
		}
		if missing == nil {
			missing = l
		}
	}
	if missing != nil && !slices.Contains(p.found, *missing) {
		p.found = append(p.found, *missing)
	}
}

// look looks for a program as the shell would; nil: it can be run, or nobody can tell.
func (p *programs) look(word string) *Lack {
	if !strings.Contains(word, "/") {
		if len(p.path) == 0 {
			return nil
		}
		for _, dir := range p.path {
			// An empty entry is the folder that the shell is in.
			if programFault(filepath.Join(resolved(p.place.Workspace, dir), word)) == "" {
				return nil
			}
		}
		return &Lack{Word: word, Fault: "is not on the PATH", WayOut: "install it, or correct the command"}
	}
	var found *Lack
	for _, dir := range p.dirs {
		path := resolved(dir, word)
		fault := programFault(path)
		switch {
		case fault == "" || strings.Contains(path, unknownText):
			return nil
		case found != nil && found.Fault != notThere:
			continue // what is there and cannot be run is the likelier one
		}
		found = &Lack{Word: word, Path: path, Fault: fault}
		switch fault {
		case notThere:
			found.WayOut = "create " + path + ", or correct the path, which starts at the workspace"
		case notExecutable:
			found.WayOut = "run chmod +x on it, or put its interpreter before it"
		default:
			found.WayOut = "name a file"
		}
	}
	return found
}

// What may be wrong with a program's file.
const (
	notThere      = "is not there"
	notExecutable = "may not be executed"
)

// programFault says why a file cannot be run; empty: it can.
func programFault(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return notThere
	case info.IsDir():
		return "is a folder"
	case info.Mode()&0o111 == 0:
		return notExecutable
	}
	return ""
}

// IsBuiltin reports whether a shell knows a word in a program's place without a
// program.
func IsBuiltin(word string) bool {
	return slices.Contains([]string{
		"", ".", ":", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "declare", "dirs", "echo", "eval",
		"exec", "exit", "export", "false", "fc", "fg", "for", "getopts", "hash", "if", "jobs", "kill", "let", "local", "popd",
		"printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "shopt", "source", "test", "time", "times",
		"trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "[", "[[",
	}, word)
}
