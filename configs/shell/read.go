package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/syntax"
)

// This file finds out what a shell line runs, for trust (Place.Line) and for missing
// programs (Place.Lacks). It executes nothing. A word may have several meanings, for
// example because a variable has several values in a loop; all of them count. What
// covey cannot expand is unknown.

// unknownText represents the part of a word that only the shell will know.
const unknownText = "\x00"

// maxMeanings is the maximum number of meanings of one word.
const maxMeanings = 64

// token is one word of a simple command.
type token struct {
	meanings []string // without quotes; globs are not expanded
	literal  string   // its text if it is constant; empty otherwise
}

// simple is one simple command of a line.
type simple struct {
	words []token
	dirs  []string // directories in which it may run
}

// reader reads one line.
type reader struct {
	place    Place
	dirs     []string // directories of the next command, after the cd commands so far
	values   map[string][]string
	commands []simple
	loose    []token  // words that are not part of a command: values of variables
	texts    []string // here-documents, which may be scripts
	depth    int
}

// read reads a line that starts in dir. ok is false if the line is not valid shell.
func (p Place) read(line, dir string) (r *reader, ok bool) {
	r = &reader{place: p, dirs: []string{dir}, values: map[string][]string{}}
	return r, r.lines(line)
}

// lines adds the commands of a line.
func (r *reader) lines(line string) bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && n.Value != nil {
				r.set(n.Name.Value, n.Value)
			}
		case *syntax.WordIter:
			for _, item := range n.Items {
				r.set(n.Name.Value, item)
			}
		case *syntax.Redirect:
			if n.Hdoc != nil {
				r.texts = append(r.texts, strings.Join(r.meanings(n.Hdoc.Parts), "\n"))
			}
		case *syntax.CallExpr:
			// Variables before the command are read first, as the shell does.
			for _, assign := range n.Assigns {
				if assign.Name != nil && assign.Value != nil {
					r.set(assign.Name.Value, assign.Value)
				}
			}
			r.call(n)
		}
		return true
	})
	return true
}

// set records a value that a variable may have.
func (r *reader) set(name string, value *syntax.Word) {
	word := r.word(value)
	r.loose = append(r.loose, word)
	for _, meaning := range word.meanings {
		if len(r.values[name]) < maxMeanings && !slices.Contains(r.values[name], meaning) {
			r.values[name] = append(r.values[name], meaning)
		}
	}
}

// call adds a simple command, and applies cd, eval and the -c of a shell.
func (r *reader) call(n *syntax.CallExpr) {
	c := simple{dirs: slices.Clone(r.dirs)}
	for _, arg := range n.Args {
		c.words = append(c.words, r.word(arg))
	}
	r.commands = append(r.commands, c)
	if len(c.words) < 2 {
		return
	}
	switch name := c.words[0].literal; {
	case name == "cd" || name == "pushd":
		for _, meaning := range c.words[len(c.words)-1].meanings {
			for _, dir := range c.dirs {
				if dir = resolved(dir, meaning); len(r.dirs) < maxMeanings && !slices.Contains(r.dirs, dir) {
					r.dirs = append(r.dirs, dir)
				}
			}
		}
	case r.depth > 3:
	default:
		// An argument of several words may be a script: sh -c './gate.sh --fast'.
		for _, word := range c.words[1:] {
			for _, meaning := range word.meanings {
				if strings.ContainsAny(meaning, " \t\n;&|") && !strings.Contains(meaning, unknownText) ||
					slices.ContainsFunc(
						c.words, func(w token) bool { return w.literal == "-c" || w.literal == "eval" }) {
					r.depth++
					r.lines(meaning)
					r.depth--
				}
			}
		}
	}
}

// resolved returns path relative to dir, or path if it is absolute.
func resolved(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// word converts a word.
func (r *reader) word(w *syntax.Word) token {
	out := token{meanings: r.meanings(w.Parts)}
	out.literal, _ = constantWord(w)
	return out
}

// meanings returns the possible texts of the parts of a word together.
func (r *reader) meanings(parts []syntax.WordPart) []string {
	all := []string{""}
	for _, part := range parts {
		var next []string
		for _, piece := range r.part(part) {
			for _, text := range all {
				if len(next) < maxMeanings {
					next = append(next, text+piece)
				}
			}
		}
		all = next
	}
	return all
}

// part returns the possible texts of one part of a word.
func (r *reader) part(part syntax.WordPart) []string {
	switch p := part.(type) {
	case *syntax.Lit:
		text := strings.ReplaceAll(p.Value, "\\", "")
		if home, err := os.UserHomeDir(); err == nil && (text == "~" || strings.HasPrefix(text, "~/")) {
			text = home + text[1:]
		}
		return []string{text}
	case *syntax.SglQuoted:
		return []string{p.Value}
	case *syntax.DblQuoted:
		return r.meanings(p.Parts)
	case *syntax.ParamExp:
		return r.parameter(p)
	case *syntax.CmdSubst:
		var b strings.Builder
		if len(p.Stmts) == 1 && syntax.NewPrinter().Print(&b, p.Stmts[0]) == nil &&
			slices.Contains([]string{"pwd", "git rev-parse --show-toplevel"}, strings.TrimSpace(b.String())) {
			return []string{r.place.Workspace}
		}
	}
	return []string{unknownText}
}

// parameter returns the possible values of a variable.
func (r *reader) parameter(p *syntax.ParamExp) []string {
	if p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil {
		return []string{unknownText}
	}
	values := slices.Clone(r.values[p.Param.Value])
	switch name := p.Param.Value; {
	case name == "PWD", slices.Contains(rootNames(), name):
		values = append(values, r.place.Workspace)
	case name == "HOME":
		if home, err := os.UserHomeDir(); err == nil {
			values = append(values, home)
		}
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if p.Exp.Word != nil {
				values = append(values, r.meanings(p.Exp.Word.Parts)...)
			}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		default:
			return []string{unknownText}
		}
	}
	if len(values) == 0 {
		return []string{unknownText}
	}
	return values[:min(len(values), maxMeanings)]
}

// files returns the regular files that one meaning of a word names, relative to
// each of dirs. If a part of the path is unknown, it returns the folder before that
// part in folders.
func (p Place) files(meaning string, dirs []string) (files, folders []string) {
	for _, dir := range dirs {
		path := resolved(dir, meaning)
		if fixed, _, unknown := strings.Cut(path, unknownText); unknown {
			if i := strings.LastIndexByte(meaning, '/'); strings.HasPrefix(meaning, unknownText) || i < 0 ||
				!strings.Contains(fixed, string(filepath.Separator)) {
				continue
			}
			folder := filepath.Clean(fixed[:strings.LastIndexByte(fixed, filepath.Separator)+1])
			if info, err := os.Stat(folder); err == nil && info.IsDir() && p.Brings(folder) {
				folders = append(folders, folder)
			}
			continue
		}
		found := []string{path}
		if strings.ContainsAny(meaning, "*?[{") {
			found, _ = doublestar.FilepathGlob(path, doublestar.WithFilesOnly())
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && p.Brings(path) {
				files = append(files, path)
			}
		}
	}
	return files, folders
}
