package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Lack is a program of a shell line that cannot run.
type Lack struct {
	Word   string // as in the line, without quotes
	Path   string // where it should be; empty if it is looked up in PATH
	Fault  string // "is not there"
	WayOut string
}

// Lacks returns the programs of a line that /bin/sh could not run in the workspace.
// It returns only programs without which the line is sure to fail, and runs nothing
// to find out. It skips what follows a condition, which may be meant for other
// machines.
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

// programs finds the missing programs of one line.
type programs struct {
	*reader
	path  []string        // folders; empty if the value of PATH is not known
	known map[string]bool // functions of the line, and programs that it checks for itself
	found []Lack
}

// prepare collects what applies to the whole line.
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

// constantWords returns the words of a command; words that are not constant are
// empty.
func constantWords(call *syntax.CallExpr) []string {
	words := make([]string, len(call.Args))
	for i, word := range call.Args {
		words[i], _ = constantWord(word)
	}
	return words
}

// statements checks statements that run one after another. goOn reports whether the
// statements after them run as well.
func (p *programs) statements(list []*syntax.Stmt) (goOn bool) {
	for _, stmt := range list {
		if !p.statement(stmt) {
			return false
		}
	}
	return true
}

// statement checks one statement that is sure to run.
func (p *programs) statement(stmt *syntax.Stmt) (goOn bool) {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		p.simple(cmd)
		return !mayLeave(cmd)
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
		return p.binary(cmd)
	}
	return !mayLeave(stmt)
}

// binary checks two commands with an operator between them.
func (p *programs) binary(cmd *syntax.BinaryCmd) (goOn bool) {
	switch {
	case cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll:
		p.statement(cmd.X)
		p.statement(cmd.Y)
		return true
	case cmd.Op == syntax.AndStmt && !isCondition(cmd.X): // the line needs both
		return p.statement(cmd.X) && p.statement(cmd.Y)
	case cmd.Op == syntax.OrStmt && fails(cmd.Y):
		p.statement(cmd.X)
		return true
	}
	return !mayLeave(cmd)
}

// isCondition reports whether a command is a condition, so that what follows is
// meant for some machines only.
func isCondition(stmt *syntax.Stmt) bool {
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
		return isCondition(cmd.Y)
	}
	return false
}

// fails reports whether a command ends the line with a failure.
func fails(stmt *syntax.Stmt) bool {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.Block:
		return len(cmd.Stmts) > 0 && fails(cmd.Stmts[len(cmd.Stmts)-1])
	case *syntax.CallExpr:
		words := constantWords(cmd)
		return len(words) == 1 && words[0] == "false" ||
			len(words) == 2 && slices.Contains([]string{"exit", "return"}, words[0]) && words[1] != "" && words[1] != "0"
	}
	return false
}

// mayLeave reports whether a command may end the line, or run text that is not
// known here.
func mayLeave(node syntax.Node) bool {
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

// assign records the value of a variable.
func (p *programs) assign(a *syntax.Assign) {
	if a.Name != nil && a.Value != nil {
		p.set(a.Name.Value, a.Value)
	}
}

// simple checks the program of a simple command, and the program that this one
// starts.
func (p *programs) simple(cmd *syntax.CallExpr) {
	for _, a := range cmd.Assigns {
		p.assign(a)
	}
	for i, arg := range cmd.Args {
		word := p.word(arg)
		first := word.meanings[0]
		switch {
		case i > 0 && strings.HasPrefix(first, "-"):
			return // it is not known whether the next word is its value
		case i > 0 && (strings.Contains(first, "=") || first != "" && first[0] >= '0' && first[0] <= '9'):
			continue // an assignment for env, or a duration for timeout
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

// program records a program as missing if none of the meanings of its word can run.
func (p *programs) program(meanings []string) {
	var missing *Lack
	for _, word := range meanings {
		if word != "[" && word != "[[" && strings.ContainsAny(word, unknownText+"*?[{~") ||
			IsBuiltin(word) || p.known[word] {
			return
		}
		l := p.lookUp(word)
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

// lookUp looks for a program as the shell would. It returns nil if the program can
// run or if that is not known.
func (p *programs) lookUp(word string) *Lack {
	if !strings.Contains(word, "/") {
		if len(p.path) == 0 {
			return nil
		}
		for _, dir := range p.path {
			// An empty entry means the current directory.
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
			continue // a file that exists but cannot run is the more likely one
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

// The possible faults of a program's file.
const (
	notThere      = "is not there"
	notExecutable = "may not be executed"
)

// programFault returns why a file cannot run, or "".
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

// IsBuiltin reports whether a word in the position of a program is a builtin or a
// keyword of a shell.
func IsBuiltin(word string) bool {
	return slices.Contains([]string{
		"", ".", ":", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "declare", "dirs", "echo", "eval",
		"exec", "exit", "export", "false", "fc", "fg", "for", "getopts", "hash", "if", "jobs", "kill", "let", "local", "popd",
		"printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "shopt", "source", "test", "time", "times",
		"trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "[", "[[",
	}, word)
}
