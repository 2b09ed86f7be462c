package hints

import (
	"path"
	"slices"
	"strings"
)

// What tests look like in the languages that people use. A convention that is missing here hides
// a fact; it never makes a false one.

// testPatterns are patterns of the names of test files.
var testPatterns = []string{
	"*_test.*", "test_*.*", "*.test.*", "*.spec.*", "*_spec.rb", "*_spec.lua", "*Test.java", "*Tests.java",
	"*IT.java", "*Test.kt", "*Tests.cs", "*Test.php", "*Test.scala", "*Spec.scala", "*Tests.swift", "*.bats",
	"conftest.py",
}

// testFolders are names of folders with tests.
var testFolders = []string{"test", "tests", "__tests__", "spec", "testdata"}

// namedTest reports whether runners of tests find a file by its name.
func namedTest(name string) bool { return fitsOne(path.Base(name), testPatterns...) }

// IsTest reports whether a file belongs to tests by its path.
func IsTest(name string) bool {
	base := path.Base(name)
	if slices.ContainsFunc(testPatterns, func(pattern string) bool {
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
