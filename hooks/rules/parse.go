package rules

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Bounds on what is parsed. A line beyond them cannot be judged: the parser takes a second
// for fifty thousand brackets, and agents may write such lines.
const (
	maxLine     = 64 << 10
	maxBrackets = 1000
	maxNesting  = 3 // scripts inside scripts: sh -c "sh -c …"
)

// shellLine is what is known of a command line.
type shellLine struct {
	text        string
	commands    []command
	inner       []command // of scripts in arguments: sh -c 'git push'
	started     []command // by wrappers: sudo git push, find -exec git push ;
	code        []string  // for interpreters of other languages: python -c '...'
	reads       []word    // files that redirects read
	values      []word    // literal words, also those that variables get
	certain     bool      // a sequence of simple commands of plain words, and nothing else
	doubtful    bool      // it may contain a command that the parser cannot see
	doubt       string    // the part that makes it doubtful
	substitutes bool      // it contains $(), backticks or $VAR
	nests       bool      // it is a compound command that contains $() or backticks
	computes    bool      // it evaluates variables as arithmetic
	carries     bool      // it contains text that would run a command if it were evaluated
}

// parseLine parses a command line. depth is how many scripts enclose it. An error means
// that nothing is known of the line.
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
	line.nests = len(file.Stmts) > 1 || len(file.Stmts) == 1 && !simple(file.Stmts[0])
	w := walker{line: line, depth: depth, stdin: map[*syntax.CallExpr]*syntax.Stmt{}}
	syntax.Walk(file, w.visit)
	line.nests = line.nests && w.runs
	w.at = ""
	w.doubt(line.computes && line.carries)
	return line, nil
}

// parseShell parses as bash does. A panic in the parser, whose input comes from agents,
// means that the line cannot be judged.
func parseShell(text string) (file *syntax.File, err error) {
	defer func() {
		if recover() != nil {
			err = errUnreadable
		}
	}()
	return syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
}

// isControl matches characters that shells and parsers interpret differently, such as a
// carriage return.
func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f }

// walker collects the commands of a line, wherever they are.
type walker struct {
	line  *shellLine
	depth int
	at    string                            // the command that is being read, as written
	stdin map[*syntax.CallExpr]*syntax.Stmt // the statement with a command's redirects
	runs  bool                              // there is a $() or backticks
}

// simple reports whether a statement is a single simple command.
func simple(stmt *syntax.Stmt) bool {
	_, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok
}

// doubt makes the line doubtful if yes.
func (w *walker) doubt(yes bool) {
	if yes && !w.line.doubtful {
		w.line.doubtful, w.line.doubt = true, cmp.Or(w.at, w.line.text)
	}
}

// visit handles one node of the syntax tree.
func (w *walker) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Stmt:
		if call, ok := n.Cmd.(*syntax.CallExpr); ok && len(n.Redirs) > 0 {
			w.stdin[call] = n
		}
	case *syntax.CallExpr:
		w.call(n)
	case *syntax.CmdSubst:
		w.runs, w.line.substitutes = true, true
	case *syntax.ProcSubst:
		w.line.substitutes = true
	case *syntax.ParamExp:
		w.line.substitutes = true
		w.parameter(n)
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
		w.line.substitutes = true
		w.hidden(node)
		w.line.computes = w.line.computes || readsVariable(node)
	case *syntax.CStyleLoop:
		w.line.computes = true
	case *syntax.DeclClause:
		w.hidden(node)
		w.declares(n)
	case *syntax.TestClause:
		w.hidden(node)
		w.line.computes = w.line.computes || comparesNumbers(n)
	case *syntax.Redirect:
		if n.Op == syntax.RdrIn || n.Op == syntax.RdrInOut {
			w.line.reads = append(w.line.reads, valueOf(n.Word))
		}
	case *syntax.Word:
		value := valueOf(n)
		for _, v := range append(braced(n), value) {
			if v.static && v.value != "" && v.value[0] != '-' {
				w.line.values = append(w.line.values, v)
			}
		}
		text := value.value
		w.line.carries = w.line.carries || startsCommand(text) || strings.Contains(text, "[$")
	}
	return true
}

// braced returns what a word with a list in braces expands to, if that is not too much.
func braced(n *syntax.Word) (values []word) {
	lit := n.Lit()
	if !strings.Contains(lit, ",") || strings.Contains(lit, "..") || strings.Count(lit, "{") > 4 {
		return nil
	}
	list := *n
	list.Parts = slices.Clone(n.Parts)
	if !syntax.SplitBraces(&list) {
		return nil
	}
	for one, err := range expand.BracesSeq(nil, &list) {
		if err != nil {
			return nil // it is too large
		}
		values = append(values, valueOf(one))
	}
	return values
}

// parameter records expansions that evaluate the value of a variable.
func (w *walker) parameter(n *syntax.ParamExp) {
	at := func(word string) bool {
		return word == "@" || word == "*" ||
			strings.Trim(word, "0123456789") == ""
	}
	if n.Index != nil {
		word, ok := n.Index.(*syntax.Word)
		w.line.computes = w.line.computes || !ok || !at(word.Lit())
	}
	w.line.computes = w.line.computes || n.Slice != nil || n.Excl
	if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P" {
		w.doubt(true) // @P runs the commands in a prompt's text
	}
}

// readsVariable reports whether arithmetic evaluates the value of a variable, which may be
// an expression with a command in it.
func readsVariable(node syntax.Node) (reads bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			reads = true
		case *syntax.Word:
			reads = reads || strings.Trim(n.Lit(), "0123456789") != "" || n.Lit() == ""
		}
		return !reads
	})
	return reads
}

// comparesNumbers reports whether [[ … ]] evaluates its words as arithmetic.
func comparesNumbers(node syntax.Node) (compares bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			compares = compares || n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr
		case *syntax.UnaryTest:
			compares = compares || n.Op == syntax.TsVarSet
		}
		return !compares
	})
	return compares
}

// hidden looks for commands in text that the shell evaluates as arithmetic: a['$(touch x)']
// runs one, although the syntax tree has a string.
func (w *walker) hidden(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if quoted, ok := n.(*syntax.SglQuoted); ok && startsCommand(quoted.Value) {
			w.doubt(true)
		}
		return true
	})
}

// startsCommand reports whether text would run something if it were evaluated.
func startsCommand(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, "${")
}

// call records one simple command, and what it starts.
func (w *walker) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	c := command{source: sourceOf(w.line.text, n)}
	for _, arg := range n.Args {
		c.words = append(c.words, valueOf(arg))
	}
	if stmt := w.stdin[n]; stmt != nil {
		c.input, c.given = inputOf(stmt.Redirs)
	}
	w.line.commands = append(w.line.commands, c)
	w.at = c.source
	if evaluates(c.program()) {
		for _, arg := range n.Args[1:] {
			w.hidden(arg)
		}
	}
	for _, assign := range n.Assigns {
		w.assign(assign)
	}
	w.starts(c, 0)
}

// inputOf returns the text of a here-document or here-string that a command reads. given is
// false if the input is not in the line.
func inputOf(redirects []*syntax.Redirect) (text string, given bool) {
	for _, r := range redirects {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text, given = hereText(r), true
		case syntax.WordHdoc:
			text, given = valueOf(r.Word).value, true
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			text, given = "", false
		}
	}
	return text, given
}

// hereText returns the text of a here-document.
func hereText(r *syntax.Redirect) string {
	switch {
	case r.Hdoc == nil:
		return ""
	case r.Word.Lit() == "" || strings.Contains(r.Word.Lit(), `\\`): // <<'EOF': no expansion
		return r.Hdoc.Lit()
	}
	return valueOf(&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: r.Hdoc.Parts}}}).value
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

// plainStmt reports whether a statement is a sequence of simple commands: no redirect,
// background, negation, comment, assignment or compound, and no word that the shell would
// expand.
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

// plainCall reports whether all words of a command are literal.
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
			return string(unknown)
		}
		words[i] = text[from:to]
	}
	return strings.Join(words, " ")
}

// valueOf returns what a word will be, as far as that is known.
func valueOf(w *syntax.Word) word {
	var value strings.Builder
	splits := false
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text := unquote(p.Value, false)
			splits = splits || strings.ContainsRune(text, unknown)
			value.WriteString(text)
		case *syntax.SglQuoted:
			value.WriteString(singleQuoted(p))
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					value.WriteString(unquote(lit.Value, true))
				} else {
					value.WriteByte(unknown)
					splits = splits || expandsToList(inner)
				}
			}
		default:
			value.WriteByte(unknown)
			splits = splits || !isFolder(part)
		}
	}
	text := value.String()
	return word{value: text, static: !strings.ContainsRune(text, unknown), splits: splits}
}

// expandsToList reports whether an expansion yields several words even in double quotes:
// "$@" and "${a[@]}".
func expandsToList(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && (p.Param == nil || p.Param.Value == "@" || p.Excl || p.Index != nil || p.Slice != nil)
}

// isFolder reports whether an expansion is a variable that holds a folder. Such values
// hardly ever split into words.
func isFolder(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && p.Param != nil && (p.Param.Value == "HOME" || p.Param.Value == "PWD") && p.Exp == nil &&
		p.Index == nil && p.Slice == nil && p.Repl == nil && !p.Excl
}

// singleQuoted returns the text of '…' or, with escapes resolved, of $'…'.
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

// unquote removes the backslashes from a literal. Outside quotes, globs and lists in braces
// become unknown.
func unquote(text string, quoted bool) string {
	switch {
	case quoted:
	case text == "[" || text == "]": // the test command
		return text
	case strings.ContainsRune(text, '{') && strings.ContainsAny(text, ",."):
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
		case !quoted && b == '[':
			i = max(i, strings.LastIndexByte(text, ']')) // one of the characters in it
			out.WriteByte(unknown)
		case !quoted && (b == '*' || b == '?'):
			out.WriteByte(unknown)
		default:
			out.WriteByte(b)
		}
	}
	return out.String()
}
