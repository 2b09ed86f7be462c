package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// Sure returns, in their order, the commands that are sure to run when the line does. It
// leaves out what follows a condition, which may be meant for other machines. Variables
// that are set without a command are those of a Command without words.
func (l *Line) Sure() []Command {
	if l.file == nil {
		return l.Of(Written)
	}
	s := sure{written: map[*syntax.CallExpr]Command{}}
	for _, c := range l.Commands {
		if c.call != nil && c.Role == Written {
			s.written[c.call] = c
		}
	}
	s.statements(l.file.Stmts)
	return s.found
}

// sure finds the commands that are sure to run.
type sure struct {
	written map[*syntax.CallExpr]Command
	found   []Command
}

// statements adds statements that run one after another. goOn reports whether the
// statements after them run as well.
func (s *sure) statements(list []*syntax.Stmt) (goOn bool) {
	return !slices.ContainsFunc(list, func(stmt *syntax.Stmt) bool { return !s.statement(stmt) })
}

// statement adds one statement that is sure to run.
func (s *sure) statement(stmt *syntax.Stmt) (goOn bool) {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		if c, ok := s.written[cmd]; ok {
			s.found = append(s.found, c)
		} else {
			s.assign(cmd.Assigns)
		}
		return !mayLeave(cmd)
	case *syntax.DeclClause: // export NAME=value
		s.assign(cmd.Args)
		return true
	case *syntax.Block:
		return s.statements(cmd.Stmts)
	case *syntax.Subshell:
		s.statements(cmd.Stmts)
		return true
	case *syntax.TimeClause:
		return cmd.Stmt == nil || s.statement(cmd.Stmt)
	case *syntax.BinaryCmd:
		return s.binary(cmd)
	}
	return !mayLeave(stmt)
}

// assign adds variables without a command.
func (s *sure) assign(list []*syntax.Assign) {
	var c Command
	for _, a := range list {
		c.Sets = appendSet(c.Sets, a)
	}
	s.found = append(s.found, c)
}

// binary adds two commands with an operator between them.
func (s *sure) binary(cmd *syntax.BinaryCmd) (goOn bool) {
	switch {
	case cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll:
		s.statement(cmd.X)
		s.statement(cmd.Y)
		return true
	case cmd.Op == syntax.AndStmt && !isCondition(cmd.X): // the line needs both
		return s.statement(cmd.X) && s.statement(cmd.Y)
	case cmd.Op == syntax.OrStmt && fails(cmd.Y):
		s.statement(cmd.X)
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
		var words []string
		for _, arg := range cmd.Args {
			words = append(words, valueOf(arg).Literal())
		}
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
