package main_test

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// ceiling is how much of something a reader can hold in mind of a package, a type or a struct.
type ceiling struct {
	unit, advice string
	most         int
	count        func(*tree) map[string]int
}

// ceilings are the sizes at which a reader can still hold a package, a type
// and a struct in mind. Tests and generated files do not count.
func ceilings() (packageLines, typeMethods, structFields ceiling) {
	packageLines = ceiling{
		unit: "lines of code", most: 3200, count: linesOfPackages,
		advice: "move a part that knows little of the rest to a package of its own",
	}
	typeMethods = ceiling{
		unit: "methods", most: 40, count: methodsOfTypes,
		advice: "give a part of its state, with its methods, a type of its own",
	}
	structFields = ceiling{
		unit: "fields", most: 32, count: fieldsOfStructs,
		advice: "give the fields that belong together a type of their own",
	}
	return packageLines, typeMethods, structFields
}

func (c ceiling) breaches(t *tree) []string {
	var out []string
	figures := c.count(t)
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if figures[name] > c.most {
			out = append(out, breach(name, "%d %s, more than %d; %s", figures[name], c.unit, c.most, c.advice))
		}
	}
	return out
}

func bigPackages(t *tree) []string {
	lines, _, _ := ceilings()
	return lines.breaches(t)
}

func typesWithManyMethods(t *tree) []string {
	_, methods, _ := ceilings()
	return methods.breaches(t)
}

func structsWithManyFields(t *tree) []string {
	_, _, fields := ceilings()
	return fields.breaches(t)
}

// TestFloors holds the list of arrows to its order, so that no circle can get into it.
func TestFloors(t *testing.T) {
	above := map[string]bool{}
	for _, f := range floors {
		for _, to := range strings.Fields(f.to) {
			if !above[to] {
				t.Errorf("%s may import %s, which does not stand above it", f.from, to)
			}
		}
		above[f.from], above[path.Dir(f.from)+"/*"], above[f.from+"/*"] = true, true, true
	}
}

func linesOfPackages(t *tree) map[string]int {
	lines := map[string]int{}
	for _, f := range t.code() {
		code, _ := t.density(f)
		lines[f.folder()] += code
	}
	return lines
}

// methodsOfTypes names each type as folder.Type.
func methodsOfTypes(t *tree) map[string]int {
	count := map[string]int{}
	for _, f := range t.code() {
		for _, d := range f.syntax.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Recv != nil {
				count[f.folder()+"."+receiverType(fd)]++
			}
		}
	}
	return count
}

// fieldsOfStructs leaves records alone: a struct without methods may be as flat
// as its wire format.
func fieldsOfStructs(t *tree) map[string]int {
	methods, fields := methodsOfTypes(t), map[string]int{}
	t.types(func(_ string, f *goFile, spec *ast.TypeSpec, _ bool) {
		name := f.folder() + "." + spec.Name.Name
		st, ok := spec.Type.(*ast.StructType)
		if !ok || methods[name] == 0 {
			return
		}
		for _, field := range st.Fields.List {
			fields[name] += max(len(field.Names), 1)
		}
	})
	return fields
}
