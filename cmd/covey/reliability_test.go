package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// testsIn are the names of the tests of a package, and the flags that they define, or that teamtest
// defines for them.
func testsIn(t *testing.T, folder string) (tests, flags []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no tests (%v)", folder, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests = append(tests, m[1])
		}
		if strings.Contains(string(text), "teamtest.AllRounds") {
			flags = append(flags, "all")
		}
		for _, m := range regexp.MustCompile(`flag\.(?:Int|Bool)\("(\w+)"`).FindAllStringSubmatch(string(text), -1) {
			flags = append(flags, m[1])
		}
	}
	return tests, flags
}

// brokenProof says what a command that repeats a proof names and is not there.
func brokenProof(t *testing.T, folder, pattern, rest string) string {
	t.Helper()
	tests, flags := testsIn(t, folder)
	name, script, inScript := strings.Cut(pattern, "/")
	re, err := regexp.Compile(name)
	if err != nil {
		return err.Error()
	}
	found := false
	for _, test := range tests {
		found = found || re.MatchString(test)
	}
	if !found {
		return "no test of ./" + folder + " matches " + name
	}
	if inScript {
		path := filepath.Join(root, filepath.FromSlash(folder), "testdata", "script", script+".txtar")
		if _, err := os.Stat(path); err != nil {
			return "there is no script " + script
		}
	}
	for _, m := range regexp.MustCompile(`-(\w+)`).FindAllStringSubmatch(rest, -1) {
		if m[1] != "timeout" && !strings.Contains(" "+strings.Join(flags, " ")+" ", " "+m[1]+" ") {
			return "the tests of ./" + folder + " have no flag -" + m[1]
		}
	}
	return ""
}

// TestReliabilityCommands: each row of docs/reliability.md names a test that is there.
func TestReliabilityCommands(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile("`go test \\./(\\S+) -run '?([^ '`]+)'?([^`]*)`\n$")
	rows := 0
	_, list, _ := strings.Cut(readDoc(t, "docs/reliability.md"), "\n## Tests\n")
	list, _, _ = strings.Cut(list, "\n## ")
	for row := range strings.Lines(list) {
		if !strings.HasPrefix(row, "- ") {
			continue
		}
		m := command.FindStringSubmatch(row)
		if m == nil {
			t.Errorf("no command that repeats it: %s", row)
			continue
		}
		rows++
		if wrong := brokenProof(t, m[1], m[2], m[3]); wrong != "" {
			t.Errorf("%s: %s", row, wrong)
		}
	}
	if rows < 15 {
		t.Errorf("only %d rows", rows)
	}
	for _, bad := range [][3]string{{"tasks", "TestNothingOfTheKind", ""}, {"tasks", "TestFlood", " -flod 3"}, {"cmd/covey", "TestScript/nothing", ""}} {
		if brokenProof(t, bad[0], bad[1], bad[2]) == "" {
			t.Errorf("%v passes for a proof", bad)
		}
	}
}

// TestAttacksAreNamed: each attack on tasks and bus of ADVERSARIAL.md, 17 to 28, is
// named by a test, so that it is found.
func TestAttacksAreNamed(t *testing.T) {
	named := map[int]bool{}
	attack := regexp.MustCompile(`ADVERSARIAL(?:\.md)? ([\d, and\n/]+)`)
	for _, file := range trackedFiles(t) {
		if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".txtar") {
			continue
		}
		for _, m := range attack.FindAllStringSubmatch(readDoc(t, file), -1) {
			for _, n := range regexp.MustCompile(`\d+`).FindAllString(m[1], -1) {
				if number, err := strconv.Atoi(n); err == nil {
					named[number] = true
				}
			}
		}
	}
	for n := 17; n <= 28; n++ {
		if !named[n] {
			t.Errorf("no test says that it is attack %d", n)
		}
	}
}
