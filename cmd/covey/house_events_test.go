package main_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// eventsByName finds readers of events that compare the type of a line with a text, so that a renamed
// type would compile and be read no more. Agents read types of their own protocols, which have such
// names, too.
func eventsByName(t *tree) (out []string) {
	names := eventNames(t)
	for _, f := range t.code() {
		folder := f.folder()
		if folder == "events" || strings.HasPrefix(folder, "teammate") || !imports(f, "github.com/coveyteam/covey/events") {
			continue
		}
		compared := func(with ast.Expr, list ...ast.Expr) {
			sel, isType := with.(*ast.SelectorExpr)
			isType = isType && sel.Sel.Name == "Type"
			for _, e := range list {
				if name := textOf(e); slices.Contains(names, name) && (isType || strings.Contains(name, "_")) {
					out = append(out, breach(t.place(e), "%q is compared with a type of event; switch on the Go type of its "+
						"data, or use events.Is", name))
				}
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					compared(n.X, n.Y)
					compared(n.Y, n.X)
				}
			case *ast.SwitchStmt:
				for _, c := range n.Body.List {
					compared(n.Tag, c.(*ast.CaseClause).List...)
				}
			}
			return true
		})
	}
	return out
}

// eventNames returns the names of all types of events: what their methods Type return.
func eventNames(t *tree) (names []string) {
	for _, f := range t.code() {
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || f.folder() != "events" || fn.Recv == nil || fn.Name.Name != "Type" || len(fn.Body.List) != 1 {
				continue
			}
			if result, ok := fn.Body.List[0].(*ast.ReturnStmt); ok && textOf(result.Results[0]) != "" {
				names = append(names, textOf(result.Results[0]))
			}
		}
	}
	return names
}

// textOf returns the value of a text in the source; empty for other expressions.
func textOf(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value) // the parser has read it
	return text
}

// imports reports whether a file imports a package.
func imports(f *goFile, path string) bool {
	return slices.ContainsFunc(f.syntax.Imports, func(s *ast.ImportSpec) bool { return textOf(s.Path) == path })
}
