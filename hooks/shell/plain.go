package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// evaluates reports whether a builtin evaluates its arguments as arithmetic.
func evaluates(program string) bool {
	switch program {
	case "test", "[", "printf", "read", "unset", "wait", "mapfile", "readarray", "getopts", "let", "declare",
		"typeset", "export", "local", "readonly":
		return true
	}
	return false
}

// plainStmt reports whether a statement is a sequence of simple commands: no redirect,
// background, negation, comment, assignment or compound, and no word that the shell would
// expand.
func plainStmt(stmt *syntax.Stmt) bool {
	if !bare(stmt) {
		return false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return len(cmd.Assigns) == 0 && len(cmd.Args) > 0 && plainCall(cmd)
	case *syntax.BinaryCmd:
		return cmd.Op != syntax.PipeAll && plainStmt(cmd.X) && plainStmt(cmd.Y)
	}
	return false
}

// bare reports whether a statement is its command and nothing else.
func bare(stmt *syntax.Stmt) bool {
	return len(stmt.Redirs) == 0 && !stmt.Background && !stmt.Coprocess && !stmt.Negated && len(stmt.Comments) == 0
}

// plainCall reports whether all words of a command are literal.
func plainCall(call *syntax.CallExpr) bool {
	risky := evaluates(Command{Words: []Word{valueOf(call.Args[0])}}.Program())
	for _, arg := range call.Args {
		if dollarQuoted(arg) {
			return false
		}
		for _, part := range arg.Parts {
			switch p := part.(type) {
			case *syntax.Lit:
				if strings.Contains(p.Value, `\`) {
					return false
				}
			case *syntax.SglQuoted:
				if risky && startsCommand(p.Value) {
					return false
				}
			case *syntax.DblQuoted:
				if !plainQuote(p) {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// dollarQuoted reports whether a part of a word is written as $'…' or $"…".
func dollarQuoted(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(part syntax.WordPart) bool {
		switch p := part.(type) {
		case *syntax.SglQuoted:
			return p.Dollar
		case *syntax.DblQuoted:
			return p.Dollar
		}
		return false
	})
}

// plainQuote reports whether a double-quoted text is literal.
func plainQuote(quoted *syntax.DblQuoted) bool {
	for _, part := range quoted.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return false
		}
	}
	return true
}

// sourceOf returns a command's words as written, separated by single blanks.
func sourceOf(text string, call *syntax.CallExpr) string {
	words := make([]string, len(call.Args))
	for i, arg := range call.Args {
		from, to := arg.Pos().Offset(), arg.End().Offset()
		if to > uint(len(text)) || from > to {
			return string(Unknown)
		}
		words[i] = text[from:to]
	}
	return strings.Join(words, " ")
}
