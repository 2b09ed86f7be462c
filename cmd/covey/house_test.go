package main_test

import (
	"go/ast"
	"go/format"
	"strings"
	"testing"
)

// root is the module's folder, seen from this package.
const root = "../.."

// rule is one thing that we keep to in all Go code of the module. breaches says
// where it is broken, each as "place: what is wrong; what to do".
type rule struct {
	name     string
	breaches func(*tree) []string
	figure   bool // reported by TestHouseFigures, and no failure: a limit that is met without a reason shapes the code
}

// houseRules are the rules that can be read off the source. Sizes and shares
// are those of well-kept projects; they leave out tests and generated files. TestHouseRulesCatch has an example of a breach for each.
func houseRules() []rule {
	return []rule{
		{"imports go downhill", uphillImports, false},
		{"every package has a doc comment", missingPackageDocs, false},
		{"exported names are documented", undocumentedNames, false},
		{"files are short", longFiles, true},
		{"functions are short", longFunctions, false},
		{"packages fit a reader's mind", bigPackages, true},
		{"types have few methods", typesWithManyMethods, true},
		{"structs have few fields", structsWithManyFields, true},
		{"few functions are longer than a screen", tooManyLongFunctions, true},
		{"few functions have many parameters", tooManyParameters, true},
		{"few functions nest deeply", tooDeepNesting, true},
		{"func main only wires", longMain, false},
		{"interfaces are small", bigInterfaces, true},
		{"lines fit a window", wideLines, true},
		{"comments are neither rare nor in the way", commentDensity, true},
		{"there is at least as much test as code", testDensity, true},
		{"the turn end fits one look", longTurnEnd, false},
		{"no init functions", initFunctions, false},
		{"no contexts in structs", contextsInStructs, false},
		{"no GetX methods", getters, false},
		{"type names do not repeat the package", stutteringTypes, false},
		{"few package variables", tooManyGlobals, true},
		{"expressions are compiled on first use", eagerExpressions, false},
		{"hardly a panic", tooManyPanics, true},
		{"errors are wrapped", unwrappedErrors, false},
		{"events are not matched by name", eventsByName, false},
		{"errors get their context somewhere", bareErrors, true},
		{"code is gofmt clean", unformatted, false},
	}
}

func TestHouseRules(t *testing.T) {
	t.Parallel()
	module, err := ownTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range houseRules() {
		if r.figure {
			continue
		}
		t.Run(strings.ReplaceAll(r.name, " ", "_"), func(t *testing.T) {
			for _, b := range r.breaches(module) {
				t.Error(b)
			}
		})
	}
}

// TestHouseFigures prints what is above the figures that well-kept projects hold: a place to
// look at, and no failure. A change says why it leaves something larger.
func TestHouseFigures(t *testing.T) {
	t.Parallel()
	module, err := ownTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range houseRules() {
		if !r.figure {
			continue
		}
		list := r.breaches(module)
		for i, b := range list {
			if i == mostShown {
				t.Logf("%s: and %d more", r.name, len(list)-i)
				break
			}
			t.Logf("%s: %s", r.name, b)
		}
	}
}

// mostShown is how many places of one figure are printed.
const mostShown = 10

// unformatted looks at tests and generated files as well.
func unformatted(t *tree) []string {
	var out []string
	for _, f := range t.files {
		if clean, err := format.Source(f.src); err != nil || string(clean) != string(f.src) {
			out = append(out, f.path+": not as gofmt writes it; run gofmt -w "+f.path)
		}
	}
	return out
}

// longTurnEnd guards the one file that a newcomer reads first.
func longTurnEnd(t *tree) []string {
	const name, limit = "teammate/turnend.go", 150
	for _, f := range t.files {
		if f.path != name {
			continue
		}
		if n := f.lines(); n >= limit {
			return []string{breach(name, "%d lines; the turn end stays below %d, so move what is not the pipeline "+
				"itself to a file beside it", n, limit)}
		}
		return nil
	}
	return []string{breach(name, "is not there; the turn end is described nowhere else")}
}

// longMain keeps the wiring out of the untestable function.
func longMain(t *tree) []string {
	const limit = 30
	var out []string
	for _, fn := range t.functions() {
		if fn.decl.Name.Name == "main" && fn.decl.Recv == nil && fn.lines > limit {
			out = append(out, breach(fn.place, "func main has %d lines, more than %d; move the work to a function "+
				"that takes its streams and arguments", fn.lines, limit))
		}
	}
	return out
}

// bigInterfaces counts an embedded interface as one method.
func bigInterfaces(t *tree) []string {
	const limit, small, share = 6, 3, 0.75
	var out, wide []string
	interfaces := 0
	t.types(func(place string, _ *goFile, spec *ast.TypeSpec, _ bool) {
		it, ok := spec.Type.(*ast.InterfaceType)
		if !ok {
			return
		}
		interfaces++
		switch n := it.Methods.NumFields(); {
		case n > limit:
			out = append(out, breach(place, "interface %s has %d methods, more than %d; declare what the user needs, "+
				"where it is used", spec.Name.Name, n, limit))
		case n > small:
			wide = append(wide, breach(place, "interface %s has %d methods", spec.Name.Name, n))
		}
	})
	if tooMany(len(wide), interfaces, 1-share) {
		out = append(out, wide...)
	}
	return out
}
