package hints

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// What tests say about work is found by running them on the work without a part of it. Tests that agree
// all the same do not look at that part: they say nothing of whether it is right.

// Edit replaces lines of a file of the work.
type Edit struct {
	File  string   // relative to the top of the repository
	At, N int      // the first line, and how many
	Lines []string // what takes their place
	Gone  bool     // the file is removed instead
	Made  bool     // the file is not in the work
	Was   bool     // Lines were there before the work
}

// place returns where the edit is.
func (e Edit) place() Place { return Place{File: e.File, Line: max(e.At, 1), Text: e.text()} }

// text describes the edit in a few words.
func (e Edit) text() string {
	if len(e.Lines) == 1 && e.N == 1 {
		return "also as: " + texts.Short(strings.TrimSpace(e.Lines[0]), shortLine)
	}
	return ""
}

// shortLine bounds the bytes of a line in an Edit's text.
const shortLine = 60

// Ran is the result of tests.
type Ran int

// The results.
const (
	Untried Ran = iota // there was no time
	Failed
	Passed
)

// Evidence finds what the tests say of work that has changed files. test runs them on the work with edits,
// which name describes; an error of it ends the search.
func Evidence(files []FileDiff, test func(name string, edits []Edit) (Ran, error)) ([]Hint, error) {
	var code, tests, older []FileDiff
	for _, f := range files {
		switch {
		case f.Binary || f.Mode == "120000" || f.Mode == "160000" || isLock(&f) || isExample(f.Name) && !IsTest(f.Name) ||
			fitsOne(baseOf(&f), "*.md", "*.rst", "*.adoc", "LICENSE*", "CHANGELOG*", ".gitignore") || !speaks(f):
		case !IsTest(f.Name):
			code = append(code, f)
		default:
			tests = append(tests, f)
			if f.What != Created {
				older = append(older, f)
			}
		}
	}
	s, all := &search{test: test}, append(tests, code...)
	if len(all) == 0 {
		return nil, nil
	}
	switch s.must("the work", nil) {
	case Passed:
		if len(older) > 0 && s.must("the tests as they were", undo(older...)) == Failed {
			s.add(testsBefore, false, "old tests fail", "Tests as they were before fail on this work, which changes them.", placesOf(older))
		}
	case Failed:
		s.add(testsFail, true, "tests fail", "The tests fail on this work.", placesOf(all))
		return s.found, s.err
	}
	switch edits := undo(code...); {
	case len(edits) == 0:
	case s.must("nothing but the tests", edits) != Passed:
		s.parts(code)
	case len(tests) > 0:
		s.add(testsIdle, true, "tests prove nothing", "Tests change with the code, and pass without the change of the code.", placesOf(all))
	default:
		s.add(untested, false, "not tested", "The tests pass without this work.", placesOf(code))
	}
	return s.found, s.err
}

// search is one call of Evidence.
type search struct {
	test  func(name string, edits []Edit) (Ran, error)
	left  int // edits that were not tried
	found []Hint
	err   error
}

// run runs the tests unless there was an error.
func (s *search) run(name string, edits []Edit) (r Ran) {
	if s.err == nil {
		if r, s.err = s.test(name, edits); r == Untried {
			s.left++
		}
	}
	return r
}

// must is run for what says something of all of the work: that it was not tried is a hint.
func (s *search) must(name string, edits []Edit) Ran {
	r := s.run(name, edits)
	if r == Untried && s.err == nil {
		none := Hint{Kind: NotTried, Word: "not tried", Text: "There was no time to find out what the tests check."}
		s.found = Join(s.found, []Hint{none})
	}
	return r
}

// add adds a hint about places, if there are any.
func (s *search) add(kind Kind, mark bool, word, text string, places []Place) {
	if h, ok := New(kind, mark, word, text, places); ok {
		s.found = append(s.found, h)
	}
}

// parts runs the tests without single changes of code, and then with single lines that say something else.
func (s *search) parts(code []FileDiff) {
	var loose, turned []Place
	var rest []Edit
	for _, f := range code {
		edits := undo(f)
		if len(code) > 1 && s.run("without "+f.Name, edits) == Passed {
			loose = append(loose, edits[len(edits)-1].place())
			continue
		}
		for i, e := range edits {
			if len(edits) > 1 && s.run(fmt.Sprintf("without %s:%d", f.Name, e.At), edits[i:i+1]) == Passed {
				loose = append(loose, e.place())
			} else {
				rest = append(rest, variants(f, e)...)
			}
		}
	}
	for i, e := range rest {
		name := fmt.Sprintf("%s:%d: %s", e.File, e.At, strings.Join(e.Lines, ""))
		if same := func(p Place) bool { return p.File == e.File && p.Line == e.At }; slices.ContainsFunc(turned, same) || slices.ContainsFunc(loose, same) {
			continue
		}
		if s.run(name, rest[i:i+1]) == Passed {
			if len(e.Lines) == 0 || e.Was {
				loose = append(loose, e.place())
			} else {
				turned = append(turned, e.place())
			}
		}
	}
	more := ""
	if s.left > 0 {
		more = fmt.Sprintf(" There was no time for %d more trials.", s.left)
	}
	s.add(untested, false, "not tested", "The tests pass without these changes."+more, loose)
	s.add(unpinned, false, "not pinned", "The tests also pass with another condition or number here."+more, turned)
}

// placesOf returns files as places.
func placesOf(files []FileDiff) (list []Place) {
	for _, f := range files {
		list = append(list, Place{File: f.Name})
	}
	return list
}

// undo returns what takes the changes of files back, the last ones of each file first: an edit for each group of changed lines.
func undo(files ...FileDiff) (list []Edit) {
	for _, f := range files {
		if f.What == Created || f.What == Copied {
			list = append(list, Edit{File: f.Name, Gone: true, At: 1, N: f.Added})
			continue
		}
		var own []Edit
		for _, h := range f.Hunks {
			at, open := h.New, false
			for _, l := range h.Lines {
				if l.Kind == '\\' {
					continue
				}
				if l.Kind == ' ' {
					at, open = l.New+1, false
					continue
				}
				if !open {
					own, open = append(own, Edit{File: f.Name, At: at, Made: f.What == Deleted}), true
				}
				if e := &own[len(own)-1]; l.Kind == '+' {
					e.N++
				} else {
					e.Lines = append(e.Lines, l.Text)
				}
			}
		}
		slices.Reverse(own)
		list = append(list, own...)
	}
	return list
}

// turns are the pairs of words and signs that variants exchanges, in the order in which they are tried.
var turns = [][2]string{
	{" <= ", " < "}, {" >= ", " > "}, {" < ", " <= "}, {" > ", " >= "}, {" -le ", " -lt "}, {" -ge ", " -gt "}, {" -lt ", " -le "}, {" -gt ", " -ge "},
	{"===", "!=="}, {"!==", "==="}, {"==", "!="}, {"!=", "=="}, {" -eq ", " -ne "}, {" -ne ", " -eq "}, {" -z ", " -n "}, {" -n ", " -z "},
	{"&&", "||"}, {"||", "&&"}, {" and ", " or "}, {" or ", " and "}, {" not in ", " in "}, {"not ", ""}, {"(!", "("}, {" !", " "},
	{"true", "false"}, {"false", "true"}, {"True", "False"}, {"False", "True"},
	{" + ", " - "}, {" - ", " + "}, {" * ", " / "}, {" / ", " * "}, {" += ", " -= "}, {" -= ", " += "},
}

// mostTurns is how many variants of one line are tried.
const mostTurns = 2

// silent matches a line that says nothing to a program, opened one that cannot be left out by itself, numeral a number,
// conditional the beginning of a condition.
var (
	silent      = texts.Pattern(`^\s*(?:#|//|/\*|\*|--|<!--|"""|'''|import\b|from\b|package\b|use\b|[\W_]*$)`)
	opened      = texts.Pattern(`[{(\[:,\\]\s*$|^\s*(?:[})\]]|else\b|elif\b|then\b|fi\b|done\b|end\b)`)
	conditional = texts.Pattern(`(\bif \(?)`)
	numeral     = texts.Pattern(`(?:^|[^\w$.])(\d+)\b`)
)

// variants returns edits of single added lines in which a condition, a sign or a number differs, or which leave the line out.
func variants(f FileDiff, in Edit) (list []Edit) {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Kind != '+' || l.New < in.At || l.New >= in.At+in.N || silent().MatchString(l.Text) {
				continue
			}
			before := len(list)
			add := func(text string) {
				if len(list)-before < mostTurns {
					list = append(list, Edit{File: f.Name, At: l.New, N: 1, Lines: []string{text}})
				}
			}
			for _, t := range turns {
				if i := strings.Index(l.Text, t[0]); i >= 0 {
					add(l.Text[:i] + t[1] + l.Text[i+len(t[0]):])
				}
			}
			if at := numeral().FindStringSubmatchIndex(l.Text); at != nil {
				add(l.Text[:at[2]] + "1" + l.Text[at[2]:])
			}
			if len(list) == before && conditional().MatchString(l.Text) {
				add(conditional().ReplaceAllString(l.Text, "${1}"+denial(f.Name)))
			}
			if was, ok := lineBefore(in, l); ok {
				list = append(list, Edit{File: f.Name, At: l.New, N: 1, Lines: []string{was}, Was: true})
			}
			if len(list) == before && !opened().MatchString(l.Text) {
				list = append(list, Edit{File: f.Name, At: l.New, N: 1})
			}
		}
	}
	return list
}

// speaks reports whether a file changes in more than comments and blanks.
func speaks(f FileDiff) bool {
	return f.Total == 0 || slices.ContainsFunc(f.Hunks, func(h Hunk) bool {
		return slices.ContainsFunc(h.Lines, func(l DiffLine) bool {
			return (l.Kind == '+' || l.Kind == '-') && !silent().MatchString(l.Text)
		})
	})
}

// lineBefore returns the removed line that an added one of a larger change has come from: it begins and ends as that one in
// more than half.
func lineBefore(in Edit, l DiffLine) (best string, ok bool) {
	most := len(l.Text) / 2
	for _, was := range in.Lines {
		room := min(len(was), len(l.Text))
		begin, end := 0, 0
		for begin < room && was[begin] == l.Text[begin] {
			begin++
		}
		for begin+end < room && was[len(was)-1-end] == l.Text[len(l.Text)-1-end] {
			end++
		}
		if begin+end > most && was != l.Text {
			best, most, ok = was, begin+end, true
		}
	}
	return best, ok && len(in.Lines)+in.N > 2 // else the whole change was taken back
}

// denial returns what turns a condition in the language of a file.
func denial(file string) string {
	if fitsOne(path.Base(file), "*.py", "*.rb", "*.lua") {
		return "not "
	}
	return "!"
}

// Apply returns a file of the work with an edit.
func (e Edit) Apply(text string) string {
	lines := strings.SplitAfter(text, "\n")
	at := min(max(e.At-1, 0), len(lines))
	var b strings.Builder
	b.WriteString(strings.Join(lines[:at], ""))
	for _, l := range e.Lines {
		b.WriteString(l + "\n")
	}
	b.WriteString(strings.Join(lines[min(at+e.N, len(lines)):], ""))
	return b.String()
}
