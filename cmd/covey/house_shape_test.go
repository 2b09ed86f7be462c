package main_test

import (
	"fmt"
	"go/ast"
	"strings"
)

func longFiles(t *tree) []string {
	const limit = 500
	var out []string
	for _, f := range t.code() {
		if n := f.lines(); n > limit {
			out = append(out, breach(f.path, "%d lines, more than %d; split it, one idea a file", n, limit))
		}
	}
	return out
}

func longFunctions(t *tree) []string {
	const limit = 80
	var out []string
	for _, fn := range t.functions() {
		if fn.lines > limit {
			out = append(out, breach(fn.place, "%s has %d lines, more than %d; name its steps as functions",
				fn.decl.Name.Name, fn.lines, limit))
		}
	}
	return out
}

func tooManyLongFunctions(t *tree) []string {
	const screen, share = 60, 0.01
	return t.shareOfFunctions(share, fmt.Sprintf("is longer than %d lines; name its steps as functions", screen),
		func(fn function) bool { return fn.lines > screen })
}

func tooManyParameters(t *tree) []string {
	const limit, share = 4, 0.02
	return t.shareOfFunctions(share, fmt.Sprintf("takes more than %d parameters; put what belongs together "+
		"into a struct", limit),
		func(fn function) bool { return fn.decl.Type.Params.NumFields() > limit })
}

func tooDeepNesting(t *tree) []string {
	const limit, share = 3, 0.03
	return t.shareOfFunctions(share, fmt.Sprintf("nests deeper than %d blocks; return early, or name the inner part",
		limit),
		func(fn function) bool { return nesting(fn.decl.Body) > limit })
}

// shareOfFunctions names all functions that are so when they are more than the
// share allows: which of them to mend is the author's choice.
func (t *tree) shareOfFunctions(share float64, advice string, so func(function) bool) []string {
	var out []string
	all := t.functions()
	for _, fn := range all {
		if so(fn) {
			out = append(out, breach(fn.place, "%s %s", fn.decl.Name.Name, advice))
		}
	}
	if !tooMany(len(out), len(all), share) {
		return nil
	}
	return append(out, breach("in all", "%d of %d functions, more than %.0f %%", len(out), len(all), 100*share))
}

// nesting is how many blocks stand around the innermost statement of body, not
// counting body itself.
func nesting(body *ast.BlockStmt) int {
	deepest := 0
	ast.Walk(nest{deepest: &deepest}, body)
	return deepest - 1
}

type nest struct {
	depth   int
	deepest *int
}

func (v nest) Visit(n ast.Node) ast.Visitor {
	if _, ok := n.(*ast.BlockStmt); ok {
		v.depth++
		*v.deepest = max(*v.deepest, v.depth)
	}
	return v
}

func wideLines(t *tree) []string {
	const limit, share = 110, 0.01
	var out []string
	all := 0
	for _, f := range t.code() {
		for i, line := range strings.Split(string(f.src), "\n") {
			all++
			if n := len([]rune(strings.ReplaceAll(line, "\t", "    "))); n > limit {
				out = append(out, breach(fmt.Sprintf("%s:%d", f.path, i+1), "%d columns, more than %d; break the line",
					n, limit))
			}
		}
	}
	if !tooMany(len(out), all, share) {
		return nil
	}
	return out
}

func commentDensity(t *tree) []string {
	const low, high = 0.18, 0.50
	code, comment := 0, 0
	for _, f := range t.code() {
		c, m := t.density(f)
		code, comment = code+c, comment+m
	}
	switch ratio := float64(comment) / float64(max(code, 1)); {
	case ratio < low:
		return []string{breach("in all", "%.2f lines of comment to one of code, less than %.2f; say why, "+
			"where the code cannot", ratio, low)}
	case ratio > high:
		return []string{breach("in all", "%.2f lines of comment to one of code, more than %.2f; drop what the "+
			"code says itself", ratio, high)}
	}
	return nil
}

func testDensity(t *tree) []string {
	code, tests := t.codeLines(), 0
	for _, f := range t.files {
		if f.test && !f.generated {
			n, _ := t.density(f)
			tests += n
		}
	}
	if tests >= code {
		return nil
	}
	return []string{breach("in all", "%d lines of test for %d of code; test what is new", tests, code)}
}
