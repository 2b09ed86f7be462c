package main_test

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

func missingPackageDocs(t *tree) []string {
	good, name := map[string]bool{}, map[string]string{}
	for _, f := range t.code() {
		name[f.folder()] = f.syntax.Name.Name
		opening := "Package " + f.syntax.Name.Name + " "
		if f.syntax.Name.Name == "main" {
			opening = "Command "
		}
		if strings.HasPrefix(f.syntax.Doc.Text(), opening) {
			good[f.folder()] = true
		}
	}
	var out []string
	for _, folder := range slices.Sorted(maps.Keys(name)) {
		if !good[folder] {
			out = append(out, breach(folder, "package %s has no doc comment (\"// Package %[1]s …\", or \"// Command …\" "+
				"for a main package); say what it is for, what it does not know, and what a caller owes", name[folder]))
		}
	}
	return out
}

func undocumentedNames(t *tree) []string {
	const share = 0.95
	all := 0
	var out []string
	count := func(place, name string, documented bool) {
		all++
		if !documented {
			out = append(out, breach(place, "%s is exported and has no comment above it", name))
		}
	}
	for _, fn := range t.functions() {
		receiver := receiverType(fn.decl)
		if fn.decl.Name.IsExported() && (receiver == "" || ast.IsExported(receiver)) {
			count(fn.place, fn.decl.Name.Name, fn.decl.Doc != nil)
		}
	}
	t.types(func(place string, _ *goFile, spec *ast.TypeSpec, documented bool) {
		if spec.Name.IsExported() {
			count(place, spec.Name.Name, documented)
		}
	})
	t.values(func(place string, _ *ast.GenDecl, name *ast.Ident, documented bool) {
		if name.IsExported() {
			count(place, name.Name, documented)
		}
	})
	if !tooMany(len(out), all, 1-share) {
		return nil
	}
	return append(out, breach("in all", "%d of %d exported names have no comment, more than %.0f %%",
		len(out), all, 100-100*share))
}

// receiverType is the name of the type that a method belongs to; empty for a
// function.
func receiverType(fd *ast.FuncDecl) string {
	if fd.Recv == nil || len(fd.Recv.List) == 0 {
		return ""
	}
	typ := fd.Recv.List[0].Type
	for {
		switch e := typ.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.StarExpr:
			typ = e.X
		case *ast.IndexExpr:
			typ = e.X
		case *ast.IndexListExpr:
			typ = e.X
		default:
			return ""
		}
	}
}

func initFunctions(t *tree) []string {
	var out []string
	for _, fn := range t.functions() {
		if fn.decl.Name.Name == "init" && fn.decl.Recv == nil {
			out = append(out, breach(fn.place, "an init function; do it in a constructor, where it can fail and be tested"))
		}
	}
	return out
}

func contextsInStructs(t *tree) []string {
	var out []string
	for _, f := range t.code() {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			st, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range st.Fields.List {
				if isContext(field.Type) {
					out = append(out, breach(t.place(field), "a context in a struct; pass it as the first parameter"))
				}
			}
			return true
		})
	}
	return out
}

func isContext(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Context" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "context"
}

func getters(t *tree) []string {
	var out []string
	for _, fn := range t.functions() {
		rest, get := strings.CutPrefix(fn.decl.Name.Name, "Get")
		if get && fn.decl.Recv != nil && ast.IsExported(rest) {
			out = append(out, breach(fn.place, "%s; call it %s", fn.decl.Name.Name, rest))
		}
	}
	return out
}

func stutteringTypes(t *tree) []string {
	var out []string
	t.types(func(place string, f *goFile, spec *ast.TypeSpec, _ bool) {
		pkg, name := f.syntax.Name.Name, spec.Name.Name
		one := strings.TrimSuffix(pkg, "s")
		if !spec.Name.IsExported() || len(name) <= len(one) || !strings.EqualFold(name[:len(one)], one) {
			return
		}
		if rest := name[len(one):]; ast.IsExported(rest) {
			out = append(out, breach(place, "%s.%s says it twice; call it %s", pkg, name, rest))
		}
	})
	return out
}

// tooManyGlobals leaves out errors, which are values by nature, and the blank
// variables of compile-time checks.
func tooManyGlobals(t *tree) []string {
	var out []string
	t.values(func(place string, gen *ast.GenDecl, name *ast.Ident, _ bool) {
		if gen.Tok == token.VAR && name.Name != "_" && !strings.HasPrefix(strings.ToLower(name.Name), "err") {
			out = append(out, breach(place, "package variable %s; keep state in a struct and constants in a function",
				name.Name))
		}
	})
	return t.perThousand(out, 3)
}

// eagerExpressions keeps the start of each process of covey short: hooks and gates start many.
func eagerExpressions(t *tree) []string {
	var out []string
	for _, f := range t.code() {
		for _, decl := range f.syntax.Decls {
			if _, isFunc := decl.(*ast.FuncDecl); isFunc {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "MustCompile" {
					out = append(out, breach(t.place(n), "a regular expression is compiled before main; use texts.Pattern"))
				}
				_, later := n.(*ast.FuncLit)
				return !later
			})
		}
	}
	return out
}

func tooManyPanics(t *tree) []string {
	var out []string
	t.calls(func(call *ast.CallExpr) {
		if fn, ok := call.Fun.(*ast.Ident); ok && fn.Name == "panic" {
			out = append(out, breach(t.place(call), "a panic; return an error"))
		}
	})
	return t.perThousand(out, 1)
}

// perThousand lets found pass while there are at most limit to a thousand
// lines of code.
func (t *tree) perThousand(found []string, limit int) []string {
	code := t.codeLines()
	if 1000*len(found) <= limit*code {
		return nil
	}
	return append(found, breach("in all", "%d in %d lines of code, more than %d in a thousand", len(found), code, limit))
}

func (t *tree) calls(each func(*ast.CallExpr)) {
	for _, f := range t.code() {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				each(call)
			}
			return true
		})
	}
}

// isErrorf says whether call is fmt.Errorf, and whether it wraps an error.
func isErrorf(call *ast.CallExpr) (errorf, wraps bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Errorf" || len(call.Args) == 0 {
		return false, false
	}
	if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "fmt" {
		return false, false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	return true, ok && strings.Contains(lit.Value, "%w")
}

func unwrappedErrors(t *tree) []string {
	const share = 0.50
	all := 0
	var out []string
	t.calls(func(call *ast.CallExpr) {
		errorf, wraps := isErrorf(call)
		if !errorf {
			return
		}
		all++
		if !wraps {
			out = append(out, breach(t.place(call), "fmt.Errorf without %%w; wrap the cause or a sentinel"))
		}
	})
	if !tooMany(len(out), all, share) {
		return nil
	}
	return append(out, breach("in all", "%d of %d, more than %.0f %%", len(out), all, 100*share))
}

func bareErrors(t *tree) []string {
	const share = 0.65
	bare, all := 0, 0
	for _, f := range t.code() {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			ret, ok := n.(*ast.ReturnStmt)
			if !ok || len(ret.Results) == 0 {
				return true
			}
			switch last := ret.Results[len(ret.Results)-1].(type) {
			case *ast.Ident:
				if last.Name == "err" {
					bare, all = bare+1, all+1
				}
			case *ast.CallExpr:
				if errorf, _ := isErrorf(last); errorf {
					all++
				}
			}
			return true
		})
	}
	if !tooMany(bare, all, share) {
		return nil
	}
	return []string{breach("in all", "%d of %d errors are returned bare, more than %.0f %%; say at the package's "+
		"border what was tried", bare, all, 100*share)}
}
