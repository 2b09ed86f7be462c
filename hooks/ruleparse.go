package hooks

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Bounds on what is parsed. A line beyond them is not judged: the parser takes
// a second for fifty thousand brackets, and an agent may write them.
const (
	maxLine     = 64 << 10
	maxBrackets = 1000
	maxNesting  = 3 // scripts inside scripts: sh -c "sh -c …"
)

// shellLine is what is known of a command line.
type shellLine struct {
	text        string
	commands    []command
	inner       []command // of scripts that stand in arguments: sh -c 'git push'
	certain     bool      // nothing but simple commands of plain words in a row
	doubtful    bool      // a command may hide where the parser does not look
	substitutes bool      // it holds $(), backticks or $VAR
}

// parseLine reads a command line. depth counts the scripts it stands in. The
// error means that nothing about it can be told.
func parseLine(text string, depth int) (*shellLine, error) {
	if len(text) > maxLine || strings.Count(text, "(")+strings.Count(text, "{")+strings.Count(text,
		"[") > maxBrackets ||
		strings.ContainsRune(text, 0) || depth > maxNesting {
		return nil, errUnreadable
	}
	file, err := parseShell(text)
	if err != nil {
		return nil, errUnreadable
	}
	line := &shellLine{text: text, certain: !strings.ContainsFunc(text, isControl)}
	for _, stmt := range file.Stmts {
		line.certain = line.certain && plainStmt(stmt)
	}
	line.certain = line.certain && len(file.Last) == 0
	w := walker{line: line, depth: depth}
	syntax.Walk(file, w.visit)
	return line, nil
}

// parseShell parses as bash does. The parser is somebody else's and its input
// an agent's, so that a panic in it is only one more line that cannot be judged.
func parseShell(text string) (file *syntax.File, err error) {
	defer func() {
		if recover() != nil {
			err = errUnreadable
		}
	}()
	return syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
}

// isControl finds characters on whose meaning shells and parsers disagree: a
// carriage return above all.
func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f }

// walker collects the commands of a line, wherever they stand.
type walker struct {
	line  *shellLine
	depth int
}

// visit looks at one node of the syntax tree.
func (w *walker) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.CallExpr:
		w.call(n)
	case *syntax.CmdSubst, *syntax.ParamExp, *syntax.ProcSubst:
		w.line.substitutes = true
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
		w.line.substitutes = true
		w.hidden(node)
	case *syntax.DeclClause, *syntax.TestClause:
		w.hidden(node)
	}
	return true
}

// hidden looks for commands in text that the shell evaluates as arithmetic: in
// a['$(touch x)'] it runs one, though the syntax tree shows a string.
func (w *walker) hidden(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if quoted, ok := n.(*syntax.SglQuoted); ok && startsCommand(quoted.Value) {
			w.line.doubtful = true
		}
		return true
	})
}

// startsCommand reports whether text would run something if it were evaluated.
func startsCommand(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, "${")
}

// call takes over one simple command, and the script in it if it starts a shell.
func (w *walker) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	c := command{source: sourceOf(w.line.text, n)}
	for _, arg := range n.Args {
		c.words = append(c.words, valueOf(arg))
	}
	w.line.commands = append(w.line.commands, c)
	name := c.program()
	if evaluates(name) {
		for _, arg := range n.Args[1:] {
			w.hidden(arg)
		}
	}
	w.scripts(c)
}

// evaluates reports whether a builtin evaluates its arguments as arithmetic.
func evaluates(program string) bool {
	switch program {
	case "test", "[", "printf", "read", "unset", "wait", "mapfile", "readarray", "getopts", "let", "declare",
		"typeset", "export", "local", "readonly":
		return true
	}
	return false
}

// scripts parses the scripts that a command may hand to a shell. A shell whose
// script cannot be seen leaves a doubt; so does one that reads it from a pipe.
func (w *walker) scripts(c command) {
	name := c.program()
	switch {
	case takesData(name):
		return
	case name == "eval":
		w.script(command{words: c.words[1:]}.text(), true)
		return
	case name == "source" || name == ".":
		w.line.doubtful = w.line.doubtful || slices.ContainsFunc(c.words,
			func(word word) bool { return !word.static })
	}
	if at := slices.IndexFunc(c.words, func(word word) bool {
		return word.static &&
			isShell(word.value)
	}); at >= 0 {
		w.shell(c.words[at+1:], at == 0 || anyWrapper(name))
	}
	for _, word := range c.words[1:] {
		// Not a shell's argument, but it may become one: docker run x 'git push'.
		if word.static && strings.ContainsAny(word.value, " \t\n;&|") {
			w.script(word.value, false)
		}
	}
}

// isShell reports whether a word names a shell.
func isShell(name string) bool {
	switch path.Base(name) {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish":
		return true
	}
	return false
}

// shell looks at a shell's arguments for its script. sure says that it is a
// shell which starts, and not the name of one among data.
func (w *walker) shell(args []word, sure bool) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case !arg.static:
			w.line.doubtful = w.line.doubtful || sure
			return
		case arg.value == "-o" || arg.value == "-O" || arg.value == "--rcfile" || arg.value == "--init-file":
			i++ // it has a value
		case arg.value == "--version" || arg.value == "--help" || !strings.HasPrefix(arg.value, "-"):
			return // a file: what it holds does not stand in the command line
		case !strings.HasPrefix(arg.value, "--") && strings.Contains(arg.value, "c") && i+1 < len(args):
			w.script(args[i+1].value, true)
			return
		}
	}
	w.line.doubtful = w.line.doubtful || sure // it reads its commands from elsewhere
}

// script adds the commands of a script inside the line. One that must be a
// script and cannot be read leaves a doubt.
func (w *walker) script(text string, must bool) {
	inner, err := (*shellLine)(nil), errUnreadable
	if !strings.ContainsRune(text, unknown) {
		inner, err = parseLine(text, w.depth+1)
	}
	if err != nil {
		w.line.doubtful = w.line.doubtful || must
		return
	}
	w.line.inner = append(append(w.line.inner, inner.commands...), inner.inner...)
	w.line.doubtful = w.line.doubtful || must && inner.doubtful
}

// plainStmt reports whether a statement is nothing but simple commands in a
// row: no redirect, background, negation, comment, assignment or compound, and
// no word that the shell would change into something else.
func plainStmt(stmt *syntax.Stmt) bool {
	if len(stmt.Redirs) > 0 || stmt.Background || stmt.Coprocess || stmt.Negated || len(stmt.Comments) > 0 {
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

// plainCall reports whether all words of a command mean themselves.
func plainCall(call *syntax.CallExpr) bool {
	risky := evaluates(command{words: []word{valueOf(call.Args[0])}}.program())
	for _, arg := range call.Args {
		for _, part := range arg.Parts {
			switch p := part.(type) {
			case *syntax.Lit:
				if strings.Contains(p.Value, `\`) {
					return false
				}
			case *syntax.SglQuoted:
				if p.Dollar || risky && startsCommand(p.Value) {
					return false
				}
			case *syntax.DblQuoted:
				if p.Dollar || !plainQuote(p) {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// plainQuote reports whether a double-quoted text means itself.
func plainQuote(quoted *syntax.DblQuoted) bool {
	for _, part := range quoted.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return false
		}
	}
	return true
}

// sourceOf is a command's words as written, with single blanks between them.
func sourceOf(text string, call *syntax.CallExpr) string {
	words := make([]string, len(call.Args))
	for i, arg := range call.Args {
		from, to := arg.Pos().Offset(), arg.End().Offset()
		if to > uint(len(text)) || from > to {
			return string(unknown)
		}
		words[i] = text[from:to]
	}
	return strings.Join(words, " ")
}

// valueOf is what a word will be, as far as that is known.
func valueOf(w *syntax.Word) word {
	var value strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			value.WriteString(unquote(p.Value, false))
		case *syntax.SglQuoted:
			value.WriteString(singleQuoted(p))
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					value.WriteString(unquote(lit.Value, true))
				} else {
					value.WriteByte(unknown)
				}
			}
		default:
			value.WriteByte(unknown)
		}
	}
	text := value.String()
	return word{value: text, static: !strings.ContainsRune(text, unknown)}
}

// singleQuoted is the text of '…' or, with escapes resolved, of $'…'.
func singleQuoted(quoted *syntax.SglQuoted) string {
	if !quoted.Dollar {
		return quoted.Value
	}
	text, _, err := expand.Format(&expand.Config{}, strings.ReplaceAll(quoted.Value, "%", "%%"), nil)
	if err != nil {
		return string(unknown)
	}
	return text
}

// unquote takes the backslashes out of a literal. Outside quotes, what the
// shell expands against files, and a list in braces, is unknown.
func unquote(text string, quoted bool) string {
	if !quoted && strings.ContainsRune(text, '{') && strings.ContainsAny(text, ",.") {
		return string(unknown)
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0):
			i++
			if text[i] != '\n' {
				out.WriteByte(text[i])
			}
		case !quoted && (b == '*' || b == '?' || b == '['):
			out.WriteByte(unknown)
		default:
			out.WriteByte(b)
		}
	}
	return out.String()
}
