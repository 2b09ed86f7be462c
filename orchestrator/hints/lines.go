package hints

import (
	"cmp"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
)

// mostText is how many bytes of a line a place has.
const mostText = 160

// mostColumn is how many bytes of a line are looked at. A line may be very long.
const mostColumn = 400

// spot is a line of a difference.
type spot struct {
	file *FileDiff
	hunk *Hunk
	i    int // in the lines of hunk
}

// text returns the beginning of the line.
func (s spot) text() string { return clipped(s.hunk.Lines[s.i].Text) }

// place returns where the line is, with its text.
func (s spot) place() Place { return s.about(strings.TrimSpace(s.text())) }

// about returns where the line is, with another text.
func (s spot) about(text string) Place {
	l := s.hunk.Lines[s.i]
	return Place{File: s.file.Name, Line: cmp.Or(l.New, l.Old), Text: strings.ToValidUTF8(text[:min(len(text), mostText)], "")}
}

// near returns the text of the line that is d lines below in the new file, or above if d is
// negative; empty if the difference does not show it.
func (s spot) near(d int) string {
	step := 1
	if d < 0 {
		step = -1
	}
	for i := s.i + step; i >= 0 && i < len(s.hunk.Lines); i += step {
		if l := s.hunk.Lines[i]; l.Kind == ' ' || l.Kind == '+' {
			if d -= step; d == 0 {
				return clipped(l.Text)
			}
		}
	}
	return ""
}

// block returns the lines of the new file below the line that are indented more than it, as far as the difference shows them.
func (s spot) block() []string {
	var list []string
	for _, l := range s.hunk.Lines[s.i+1:] {
		if text := clipped(l.Text); l.Kind == ' ' || l.Kind == '+' {
			if strings.TrimSpace(text) != "" && depth(text) <= depth(s.text()) {
				break
			}
			list = append(list, text)
		}
	}
	return list
}

// within reports whether the line stands in a block whose first line matches an expression, as far as the difference shows it.
func (s spot) within(expr func() *regexp.Regexp) bool {
	return slices.ContainsFunc(s.around(), expr().MatchString)
}

// around returns the first lines of the blocks in which the line stands, the innermost first, and what git prints above the hunk.
func (s spot) around() []string {
	var list []string
	at := depth(s.text())
	for i := s.i - 1; i >= 0 && at > 0; i-- {
		text := clipped(s.hunk.Lines[i].Text)
		if kind := s.hunk.Lines[i].Kind; kind != ' ' && kind != '+' || strings.TrimSpace(text) == "" || depth(text) >= at {
			continue
		}
		list = append(list, text)
		at = depth(text)
	}
	return append(list, s.hunk.Section)
}

func clipped(line string) string { return strings.ToValidUTF8(line[:min(len(line), mostColumn)], "") }

// lines returns the lines of a kind in the files that fit.
func (w Work) lines(kind byte, fits func(*FileDiff) bool) iter.Seq[spot] {
	return func(yield func(spot) bool) {
		for i := range w.Files {
			f := &w.Files[i]
			if !fits(f) {
				continue
			}
			for j := range f.Hunks {
				h := &f.Hunks[j]
				for k := range h.Lines {
					if h.Lines[k].Kind == kind && !yield(spot{f, h, k}) {
						return
					}
				}
			}
		}
	}
}

// fresh returns the added lines of the files that fit, except those that were only moved: a line
// with the same text is removed somewhere.
func (w Work) fresh(fits func(*FileDiff) bool) iter.Seq[spot] { return fitting(w.new, fits) }

// gone returns the removed lines that are added nowhere.
func (w Work) gone(fits func(*FileDiff) bool) iter.Seq[spot] { return fitting(w.old, fits) }

// fitting returns the spots in files that fit. The spots of a file stand together.
func fitting(list []spot, fits func(*FileDiff) bool) iter.Seq[spot] {
	return func(yield func(spot) bool) {
		var file *FileDiff
		fit := false
		for _, s := range list {
			if s.file != file {
				file, fit = s.file, fits(s.file)
			}
			if fit && !yield(s) {
				return
			}
		}
	}
}

// unmatched returns the lines of a kind for which no line of the other kind has the same text.
func (w Work) unmatched(kind, other byte) []spot {
	moved := map[string]int{}
	for s := range w.lines(other, anyFile) {
		moved[strings.TrimSpace(s.text())]++
	}
	var list []spot
	for s := range w.lines(kind, anyFile) {
		text := strings.TrimSpace(s.text())
		if moved[text]--; moved[text] < 0 {
			list = append(list, s)
		}
	}
	return list
}

// added returns a function that finds fresh lines that match an expression, in files of which no
// line that matches it is removed in exchange.
func added(fits func(*FileDiff) bool, expr func() *regexp.Regexp) func(Work) []Place {
	return func(w Work) []Place {
		before := map[*FileDiff]int{}
		for s := range w.gone(fits) {
			if expr().MatchString(s.text()) {
				before[s.file]++
			}
		}
		var list []Place
		for s := range w.fresh(fits) {
			if !expr().MatchString(s.text()) {
				continue
			}
			if before[s.file]--; before[s.file] < 0 {
				list = append(list, s.place())
			}
		}
		return list
	}
}

// pair is a removed line, and the added one that stands in its place.
type pair struct{ old, now spot }

// pairs returns the lines that replace each other: the first removed line of a block of changes and
// the first added one after it, and so on. Only lines for which holds is true count.
func (w Work) pairs(fits func(*FileDiff) bool, holds func(string) bool) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		var removed []spot
		var last spot
		for s := range w.changed(fits) {
			if s.hunk != last.hunk || s.i != last.i+1 || last.hunk.Lines[last.i].Kind == '+' && s.hunk.Lines[s.i].Kind == '-' {
				removed = nil
			}
			last = s
			if !holds(s.text()) {
				continue
			}
			if s.hunk.Lines[s.i].Kind == '-' {
				removed = append(removed, s)
			} else if len(removed) > 0 {
				if !yield(pair{removed[0], s}) {
					return
				}
				removed = removed[1:]
			}
		}
	}
}

// changed returns the removed and added lines of the files that fit, in their order.
func (w Work) changed(fits func(*FileDiff) bool) iter.Seq[spot] {
	return func(yield func(spot) bool) {
		for i := range w.Files {
			f := &w.Files[i]
			if !fits(f) {
				continue
			}
			for j := range f.Hunks {
				for k, l := range f.Hunks[j].Lines {
					if (l.Kind == '+' || l.Kind == '-') && !yield(spot{f, &f.Hunks[j], k}) {
						return
					}
				}
			}
		}
	}
}

// files returns a function that finds the files for which a fact holds.
func files(holds func(Work, *FileDiff) bool) func(Work) []Place {
	return func(w Work) []Place {
		var list []Place
		for i := range w.Files {
			if f := &w.Files[i]; holds(w, f) {
				list = append(list, Place{File: f.Name})
			}
		}
		return list
	}
}

// The kinds of files.

func anyFile(*FileDiff) bool { return true }

func testFile(f *FileDiff) bool { return IsTest(f.Name) }

// testCode are files that may have tests: Rust has them beside the code.
func testCode(f *FileDiff) bool { return IsTest(f.Name) || path.Ext(f.Name) == ".rs" }

// plainCode are files with code that is no test, by their endings.
func plainCode(f *FileDiff) bool { return isCode(f.Name) && !IsTest(f.Name) && !isExample(f.Name) }

// isExample reports whether a file shows how something is used.
func isExample(name string) bool {
	before := ""
	for folder := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains([]string{"example", "examples", "docs", "doc", "benches", "benchmarks"}, folder) && before != "org" && before != "com" { // a package of Java
			return true
		}
		before = folder
	}
	return false
}

var codeEndings = []string{
	".go", ".py", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".rs", ".java", ".kt", ".rb", ".php", ".cs", ".swift", ".c", ".cc",
	".cpp", ".h", ".hpp", ".scala", ".ex", ".exs", ".dart", ".vue", ".svelte", ".lua", ".sh", ".bash", ".pl",
}

func isCode(name string) bool { return slices.Contains(codeEndings, path.Ext(name)) }

// isCI reports whether a file tells a service what to run on changes.
func isCI(name string) bool {
	return strings.HasPrefix(name, ".github/workflows/") || strings.HasPrefix(name, ".github/actions/") ||
		strings.HasPrefix(name, ".circleci/") || strings.HasPrefix(name, ".buildkite/") ||
		slices.Contains([]string{".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "Jenkinsfile", "appveyor.yml", ".drone.yml",
			"bitbucket-pipelines.yml", "cloudbuild.yaml"}, name)
}

// isScript reports whether a file is a list of commands for a shell, make or CI.
func isScript(f *FileDiff) bool {
	base := path.Base(f.Name)
	return isCI(f.Name) || fitsOne(base, "*.sh", "*.bash", "*.bats", "Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile",
		"Dockerfile*", "package.json", "tox.ini", "noxfile.py", "Taskfile.y*ml", "lefthook.y*ml", ".pre-commit-config.yaml")
}

// fitsOne reports whether a name matches one of the patterns, which are ours.
func fitsOne(base string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		fits, _ := path.Match(p, base)
		return fits
	})
}
