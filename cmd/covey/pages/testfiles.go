package pages

import (
	"path"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// What tests look like in the languages that people use. A convention that is missing here hides
// a fact from the page; it never makes a false one.

// testNames are patterns of the names of test files.
var testNames = []string{
	"*_test.*", "test_*.*", "*.test.*", "*.spec.*", "*_spec.rb", "*_spec.lua", "*Test.java", "*Tests.java",
	"*IT.java", "*Test.kt", "*Tests.cs", "*Test.php", "*Test.scala", "*Spec.scala", "*Tests.swift", "*.bats",
	"conftest.py",
}

// testFolders are names of folders with tests.
var testFolders = []string{"test", "tests", "__tests__", "spec", "testdata"}

// IsTest reports whether a file belongs to tests by its path.
func IsTest(name string) bool {
	base := path.Base(name)
	if slices.ContainsFunc(testNames, func(pattern string) bool {
		fits, _ := path.Match(pattern, base) // the patterns are ours
		return fits
	}) {
		return true
	}
	for folder := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains(testFolders, folder) {
			return true
		}
	}
	return false
}

// stem returns a file's name without what marks it as a test, and without its ending.
func stem(base string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(base, "."), ".")
	name = strings.TrimPrefix(name, "test_")
	for _, end := range []string{"_test", "_spec"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// testStart finds the beginning of a test and its name.
var testStart = texts.Pattern(`^\s*(?:` +
	`func ((?:Test|Fuzz|Benchmark|Example)\w*)\(` + // Go
	`|(?:async )?def (test\w*)\(` + // Python
	"|(?:it|test|specify)(?:\\.\\w+)*\\(\\s*(['\"`][^'\"`]{1,120})" + // JavaScript, TypeScript
	`|(?:it|test) (['"][^'"]{1,120})` + // Ruby
	`|@test (['"][^'"]{1,120})` + // Bats
	`|(?:public |private |internal |fun |void )+(test\w*)\(` + // Java, Kotlin, PHP
	`)`)

// testSkip finds what keeps a test, or all others, from running.
var testSkip = texts.Pattern(`\b[tb]\.Skip(?:f|Now)?\(|\btesting\.Short\(\)` + // Go
	`|@(?:unittest\.|pytest\.mark\.)?(?:skip|xfail|expectedFailure)` + // Python
	`|\bpytest\.(?:skip|xfail)\(|\bself\.skipTest\(` +
	`|\b(?:it|test|describe|context|suite)\.(?:skip|only|todo|fixme)\b` + // JavaScript
	`|\b(?:xit|xtest|xdescribe|fit|fdescribe)\(` +
	`|#\[ignore|@Disabled\b|@Ignore\b|\[Ignore\b|\bXCTSkip\(|\bmarkTestSkipped\(|^\s*skip\b`) // others

// lostTests lists the tests that are removed from files that stay, and are nowhere added again.
func (w Work) lostTests() []string {
	var list []string
	added := map[string]bool{}
	w.eachTestLine(func(f FileDiff, l DiffLine) {
		if name := testName(l.Text); name != "" && l.Kind == '+' {
			added[name] = true
		}
	})
	w.eachTestLine(func(f FileDiff, l DiffLine) {
		if name := testName(l.Text); name != "" && l.Kind == '-' && f.What != Deleted && !added[name] {
			list = append(list, w.Name(f)+": "+name)
		}
	})
	return list
}

// skippedTests lists the lines that keep tests from running, and were not there before.
func (w Work) skippedTests() []string {
	before := map[string]int{}
	w.eachTestLine(func(_ FileDiff, l DiffLine) {
		if l.Kind == '-' && testSkip().MatchString(clipped(l.Text)) {
			before[strings.TrimSpace(l.Text)]++
		}
	})
	var list []string
	w.eachTestLine(func(f FileDiff, l DiffLine) {
		if l.Kind != '+' || !testSkip().MatchString(clipped(l.Text)) {
			return
		}
		text := strings.TrimSpace(l.Text)
		if before[text]--; before[text] < 0 {
			list = append(list, w.Name(f)+": "+clipped(text))
		}
	})
	return list
}

// eachTestLine calls see with each line of the hunks of test files.
func (w Work) eachTestLine(see func(FileDiff, DiffLine)) {
	for _, f := range w.Files {
		if !IsTest(w.Name(f)) && !strings.HasSuffix(f.Name, ".rs") { // Rust has its tests beside the code
			continue
		}
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				see(f, l)
			}
		}
	}
}

// testName returns the name of the test that a line begins; empty if it begins none.
func testName(line string) string {
	found := testStart().FindStringSubmatch(clipped(line))
	if found == nil {
		return ""
	}
	return strings.Trim(strings.Join(found[1:], ""), "'\"`")
}

// clipped returns the beginning of a line, which may be very long.
func clipped(line string) string { return line[:min(len(line), 300)] }
