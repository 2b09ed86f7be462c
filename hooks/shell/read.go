package shell

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds on what is parsed. A line beyond them cannot be judged: the parser takes a second
// for fifty thousand brackets, and agents may write such lines.
const (
	maxLine     = 64 << 10
	maxBrackets = 1000
	maxNesting  = 3 // scripts inside scripts: sh -c "sh -c …"
)

// Read reads a command line as bash does. The error wraps ErrUnreadable.
func Read(text string) (*Line, error) { return read(text, 0, syntax.LangBash) }

// ReadSh reads a command line as /bin/sh does, which may be no bash: ((cd x; ./a.sh)) is two
// subshells there, and no arithmetic. What only bash can read is read as bash does.
func ReadSh(text string) (*Line, error) {
	if line, err := read(text, 0, syntax.LangPOSIX); err == nil {
		return line, nil
	}
	return Read(text)
}

// Args returns the line of a program and its arguments, which no shell reads.
func Args(args []string) *Line {
	w := newWalker(Join(args), 0)
	c := Command{Source: w.line.Text}
	for i, arg := range args {
		word := static(arg)
		word.At, word.End = i, i+1
		c.Words = append(c.Words, word)
	}
	w.add(c)
	w.starts(c, 0)
	return w.line
}

// read reads a line inside depth scripts.
func read(text string, depth int, lang syntax.LangVariant) (*Line, error) {
	if len(text) > maxLine || strings.Count(text, "(")+strings.Count(text, "{")+strings.Count(text,
		"[") > maxBrackets ||
		strings.ContainsRune(text, 0) || depth > maxNesting {
		return nil, ErrUnreadable
	}
	file, err := parse(text, lang)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	w := newWalker(text, depth)
	line := w.line
	line.file, line.Certain = file, !strings.ContainsFunc(text, isControl)
	for _, stmt := range file.Stmts {
		line.Certain = line.Certain && plainStmt(stmt)
	}
	line.Certain = line.Certain && len(file.Last) == 0
	line.Nests = len(file.Stmts) > 1 || len(file.Stmts) == 1 && !simple(file.Stmts[0])
	syntax.Walk(file, w.visit)
	line.Nests = line.Nests && w.runs
	w.at = ""
	w.doubt(line.Computes && line.carries)
	return line, nil
}

// parse parses as a shell does. A panic in the parser, whose input comes from agents, means
// that the line cannot be read.
func parse(text string, lang syntax.LangVariant) (file *syntax.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the parser panicked")
		}
	}()
	return syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
}

// isControl matches characters that shells and parsers interpret differently, such as a
// carriage return.
func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f }

// walker collects the commands of a line, wherever they are.
type walker struct {
	line  *Line
	depth int
	at    string                            // the command that is being read, as written
	sets  []Set                             // its variables
	stdin map[*syntax.CallExpr]*syntax.Stmt // the statement with a command's redirects
	runs  bool                              // there is a $() or backticks

	builtin bool    // the shell itself runs what the current command starts
	folder  int     // the index of the folder of the next command
	open    []scope // the nodes around the current one
}

// scope is what a node that has been entered restores at its end.
type scope struct {
	subshell bool
	folder   int
}

// newWalker returns a walker for an empty line.
func newWalker(text string, depth int) *walker {
	return &walker{line: &Line{Text: text, Folders: []Folder{{}}}, depth: depth, stdin: map[*syntax.CallExpr]*syntax.Stmt{}}
}

// simple reports whether a statement is a single simple command.
func simple(stmt *syntax.Stmt) bool {
	_, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok
}

// doubt makes the line doubtful if yes.
func (w *walker) doubt(yes bool) {
	if yes && w.line.Doubt == "" {
		w.line.Doubt = cmp.Or(w.at, w.line.Text)
	}
}

// visit handles one node of the syntax tree.
func (w *walker) visit(node syntax.Node) bool {
	if node == nil { // the end of the innermost open node
		last := len(w.open) - 1
		if w.open[last].subshell {
			w.folder = w.open[last].folder
		}
		w.open = w.open[:last]
		return true
	}
	w.open = append(w.open, scope{opensSubshell(node), w.folder})
	switch n := node.(type) {
	case *syntax.Stmt:
		if call, ok := n.Cmd.(*syntax.CallExpr); ok && len(n.Redirs) > 0 {
			w.stdin[call] = n
		}
	case *syntax.CallExpr:
		w.call(n)
	case *syntax.FuncDecl:
		if n.Name != nil {
			w.line.Functions = append(w.line.Functions, n.Name.Value)
		}
	case *syntax.Assign:
		w.line.Sets = appendSet(w.line.Sets, n)
	case *syntax.WordIter:
		for _, item := range n.Items {
			w.line.Sets = append(w.line.Sets, Set{n.Name.Value, valueOf(item)})
		}
	case *syntax.CmdSubst:
		w.runs, w.line.Substitutes = true, true
	case *syntax.ProcSubst:
		w.line.Substitutes = true
	case *syntax.ParamExp:
		w.line.Substitutes = true
		w.parameter(n)
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
		w.line.Substitutes = true
		w.hidden(node)
		w.line.Computes = w.line.Computes || readsVariable(node)
	case *syntax.CStyleLoop:
		w.line.Computes = true
	case *syntax.DeclClause:
		w.hidden(node)
		w.declares(n)
	case *syntax.TestClause:
		w.hidden(node)
		w.line.Computes = w.line.Computes || comparesNumbers(n)
	case *syntax.Redirect:
		if n.Op == syntax.RdrIn || n.Op == syntax.RdrInOut {
			w.line.Reads = append(w.line.Reads, valueOf(n.Word))
		}
		if n.Hdoc != nil {
			w.line.Texts = append(w.line.Texts, valueOf(n.Hdoc))
		}
	case *syntax.Word:
		value := valueOf(n)
		for _, v := range append(braced(n), value) {
			if v.Static && v.Value != "" && v.Value[0] != '-' {
				w.line.Values = append(w.line.Values, v)
			}
		}
		text := value.Value
		w.line.carries = w.line.carries || startsCommand(text) || strings.Contains(text, "[$")
	}
	return true
}

// opensSubshell reports whether a cd inside of a node has no effect after it.
func opensSubshell(node syntax.Node) bool {
	switch node.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return true
	}
	return false
}

// appendSet adds the variable of an assignment.
func appendSet(sets []Set, a *syntax.Assign) []Set {
	if a.Name == nil || a.Value == nil {
		return sets
	}
	return append(sets, Set{a.Name.Value, valueOf(a.Value)})
}

// parameter records expansions that evaluate the value of a variable.
func (w *walker) parameter(n *syntax.ParamExp) {
	at := func(word string) bool {
		return word == "@" || word == "*" ||
			strings.Trim(word, "0123456789") == ""
	}
	if n.Index != nil {
		word, ok := n.Index.(*syntax.Word)
		w.line.Computes = w.line.Computes || !ok || !at(word.Lit())
	}
	w.line.Computes = w.line.Computes || n.Slice != nil || n.Excl
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
	c := Command{Source: sourceOf(w.line.Text, n), call: n}
	for _, arg := range n.Args {
		c.Words = append(c.Words, valueOf(arg))
	}
	if stmt := w.stdin[n]; stmt != nil {
		c.input, c.given = inputOf(stmt.Redirs)
	}
	for _, assign := range n.Assigns {
		c.Sets = appendSet(c.Sets, assign)
	}
	w.add(c)
	if evaluates(c.Program()) {
		for _, arg := range n.Args[1:] {
			w.hidden(arg)
		}
	}
	for _, set := range c.Sets {
		w.assign(set)
	}
	w.starts(c, 0)
}

// add records a command of the line itself.
func (w *walker) add(c Command) {
	w.at, w.sets = c.Source, c.Sets
	w.append(c)
}

// append records a command, which runs in the folder after the last cd.
func (w *walker) append(c Command) {
	c.Folder = w.folder
	if c.Role == Started {
		w.line.started++
	}
	w.line.Commands = append(w.line.Commands, c)
	if name := c.Program(); (name == "cd" || name == "pushd") && len(c.Words) > 1 && !c.Guessed {
		w.line.Folders = append(w.line.Folders, Folder{From: w.folder, To: c.Words[len(c.Words)-1]})
		if c.Role == Written || w.builtin { // env cd x has no effect
			w.folder = len(w.line.Folders) - 1
		}
	}
}

// inputOf returns the text of a here-document or here-string that a command reads. given is
// false if the input is not in the line.
func inputOf(redirects []*syntax.Redirect) (text string, given bool) {
	for _, r := range redirects {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text, given = hereText(r), true
		case syntax.WordHdoc:
			text, given = valueOf(r.Word).Value, true
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
	return valueOf(&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: r.Hdoc.Parts}}}).Value
}
