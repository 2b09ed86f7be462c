package main_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// modulePath is what our import paths begin with.
const modulePath = "github.com/coveyteam/covey"

// generatedMark is how generated files say so; they are nobody's style.
var generatedMark = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// tree is the parsed Go source of the module.
type tree struct {
	fset  *token.FileSet
	files []*goFile // in path order
}

// goFile is one parsed file. path is slash-separated and relative to the
// module's folder.
type goFile struct {
	path      string
	src       []byte
	syntax    *ast.File
	test      bool
	generated bool
}

func (f *goFile) lines() int { return bytes.Count(f.src, []byte("\n")) }

// folder is the path of the file's package within the module.
func (f *goFile) folder() string { return path.Dir(f.path) }

// function is a declared function with a body.
type function struct {
	place string
	decl  *ast.FuncDecl
	lines int
}

// ownTree is the tree of this module. It is parsed once; the rules only read it.
var ownTree = sync.OnceValues(func() (*tree, error) { return loadTree(os.DirFS(root)) })

// loadTree parses all Go files below fsys that belong to its module: not those
// of nested modules, test data and hidden folders.
func loadTree(fsys fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && foreign(fsys, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		return t.parse(fsys, name)
	})
	return t, err
}

func foreign(fsys fs.FS, folder string) bool {
	if folder == "." {
		return false
	}
	base := path.Base(folder)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "vendor" {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(folder, "go.mod"))
	return err == nil
}

func (t *tree) parse(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, &goFile{
		path: name, src: src, syntax: syntax,
		test:      strings.HasSuffix(name, "_test.go"),
		generated: generatedMark.Match(src),
	})
	return nil
}

// code is the files that sizes and shares are about.
func (t *tree) code() []*goFile {
	return slices.DeleteFunc(slices.Clone(t.files), func(f *goFile) bool { return f.test || f.generated })
}

func (t *tree) place(n ast.Node) string {
	at := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", at.Filename, at.Line)
}

func (t *tree) functions() []function {
	var out []function
	for _, f := range t.code() {
		for _, d := range f.syntax.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil {
				lines := t.fset.Position(fd.End()).Line - t.fset.Position(fd.Pos()).Line + 1
				out = append(out, function{t.place(fd), fd, lines})
			}
		}
	}
	return out
}

// types calls each for every type declared at package level. documented says
// whether a comment stands at the type or at its declaration.
func (t *tree) types(each func(place string, f *goFile, spec *ast.TypeSpec, documented bool)) {
	for _, f := range t.code() {
		for _, d := range f.syntax.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.TypeSpec)
				each(t.place(spec), f, spec, gen.Doc != nil || spec.Doc != nil || spec.Comment != nil)
			}
		}
	}
}

// values calls each for every constant and variable of package level.
func (t *tree) values(each func(place string, gen *ast.GenDecl, name *ast.Ident, documented bool)) {
	for _, f := range t.code() {
		for _, d := range f.syntax.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range gen.Specs {
				spec, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for _, name := range spec.Names {
					each(t.place(name), gen, name, gen.Doc != nil || spec.Doc != nil || spec.Comment != nil)
				}
			}
		}
	}
}

// density counts the lines of f that hold code and those that hold nothing but
// a comment.
func (t *tree) density(f *goFile) (code, comment int) {
	const isCode, isComment = 2, 1
	kind := map[int]int{}
	file := token.NewFileSet().AddFile(f.path, -1, len(f.src))
	var s scanner.Scanner
	s.Init(file, f.src, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // put in by the scanner
		}
		k := isCode
		if tok == token.COMMENT {
			k = isComment
		}
		first := file.Line(pos)
		for l := first; l <= first+strings.Count(text, "\n"); l++ {
			kind[l] = max(kind[l], k)
		}
	}
	for _, k := range kind {
		if k == isCode {
			code++
		} else {
			comment++
		}
	}
	return code, comment
}

// codeLines is the size of the code that "per thousand lines" refers to.
func (t *tree) codeLines() int {
	n := 0
	for _, f := range t.code() {
		code, _ := t.density(f)
		n += code
	}
	return n
}

// breach is one entry of a rule's findings.
func breach(place, format string, args ...any) string {
	return place + ": " + fmt.Sprintf(format, args...)
}

// tooMany says whether part of all is more than the share allows.
func tooMany(part, all int, share float64) bool {
	return all > 0 && float64(part)/float64(all) > share
}

func TestLoadTreeStaysInTheModule(t *testing.T) {
	const src = "package x\n"
	files := fstest.MapFS{}
	for _, name := range []string{
		"go.mod", "bus/bus.go", "bus/bus_test.go", "bus/testdata/x.go", ".hidden/x.go", "_old/x.go", "vendor/v/x.go",
		"examples/one/go.mod", "examples/one/x.go", "examples/two/x.go",
	} {
		files[name] = &fstest.MapFile{Data: []byte(src)}
	}
	got, err := loadTree(files)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range got.files {
		names = append(names, f.path)
	}
	if want := []string{"bus/bus.go", "bus/bus_test.go", "examples/two/x.go"}; !slices.Equal(names, want) {
		t.Errorf("read %v, want %v", names, want)
	}
	files["bus/bad.go"] = &fstest.MapFile{Data: []byte("packag")}
	if _, err := loadTree(files); err == nil || !strings.Contains(err.Error(), "bus/bad.go") {
		t.Errorf("a file that does not parse gives %v, want an error that names it", err)
	}
}
