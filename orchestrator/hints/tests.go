package hints

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// testStart finds the beginning of a test and its name.
var testStart = texts.Pattern(`^\s*(?:` +
	`func (?:\(\w+ \*?\w+\) )?((?:Test|Fuzz|Example)\w*)\(` + // Go, also of a suite
	`|(?:async )?def (test\w*)\(` + // Python
	"|(?:it|test|specify)(?:\\.\\w+)*(?:\\([^'\"`]*\\))?\\(\\s*(['\"`][^'\"`]{1,120})" + // JavaScript, TypeScript
	`|(?:it|test) (['"][^'"]{1,120})['"].*(?:\bdo|\{)\s*(?:\|\w+\|)?\s*$` + // Ruby
	`|@test (['"][^'"]{1,120})` + // Bats
	`|(?:public |private |internal |fun |void )+(test\w*)\(` + // Java, Kotlin, PHP
	`|(test_\w+)\s*\(\)\s*\{?\s*$` + // shells
	`)`)

// testName returns the name of the test that a line begins; empty if it begins none.
func testName(line string) string {
	found := testStart().FindStringSubmatch(line)
	if found == nil {
		return ""
	}
	return strings.Trim(strings.Join(found[1:], ""), "'\"`")
}

// testNames returns the names of the tests that lines of a kind begin, with where.
func testNames(w Work, kind byte) (names map[string]bool, spots []spot) {
	names = map[string]bool{}
	for s := range w.lines(kind, testCode) {
		if name := testName(s.text()); name != "" {
			names[name] = true
			spots = append(spots, s)
		}
	}
	return names, spots
}

// lostTests returns the tests that are removed and nowhere added again, and how many tests are new.
// A test that has another name at its place is renamed, not lost.
func lostTests(w Work) (lost []spot, news int) {
	removed, gone := testNames(w, '-')
	added, fresh := testNames(w, '+')
	for _, s := range gone {
		if !added[testName(s.text())] {
			lost = append(lost, s)
		}
	}
	for _, s := range fresh {
		if !removed[testName(s.text())] {
			news++
		}
	}
	return lost, news
}

// removedTests finds removed tests. The tests of removed code go with it: more lines of code are
// removed than of tests, or as many tests are new. withCode chooses which of the two is wanted.
func removedTests(withCode bool) func(Work) []Place {
	return func(w Work) []Place {
		lost, news := lostTests(w)
		var list []Place
		for i := range w.Files {
			f := &w.Files[i]
			if f.What == Deleted && IsTest(f.Name) || f.What == Renamed && IsTest(f.Old) && (!IsTest(f.Name) || namedTest(f.Old) && !namedTest(f.Name)) {
				list = append(list, Place{File: f.Name})
			}
		}
		for _, s := range lost {
			if s.file.What != Deleted && !retiredTest(w, testName(s.text())) {
				list = append(list, s.about(testName(s.text())))
			}
		}
		if list == nil {
			return nil
		}
		if list[0].Line == 0 {
			news = 0 // whole files are gone
		}
		var code, tests int
		for s := range w.gone(anyFile) {
			if IsTest(s.file.Name) {
				tests++
			} else if isCode(s.file.Name) {
				code++
			}
		}
		if (code > tests || news >= len(lost) && news > 0) != withCode {
			return nil
		}
		return list
	}
}

// retired matches what begins a function, with its name.
var retired = texts.Pattern(`^\s*(?:async )?(?:func|def|function|fn|void|fun)\s+(?:\(\w+ \*?\w+\) )?(\w+)|^(\w+)\s*\(\)\s*\{?\s*$`)

// functionName returns the name of the function that a line begins; empty: it begins none.
func functionName(line string) string {
	found := retired().FindStringSubmatch(line)
	if found == nil {
		return ""
	}
	return strings.Join(found[1:], "")
}

// retiredTest reports whether a removed test stays under a name that no runner knows.
func retiredTest(w Work, name string) bool { return len(renamedTests(w, name)) > 0 }

// renamedTests returns where the test of a name goes on under a name that no runner of tests knows:
// check_add for test_add, or _TestAdd.
func renamedTests(w Work, name string) []Place {
	plain := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(name, "Test"), "test"), "_")
	var list []Place
	for s := range w.fresh(testCode) {
		now := functionName(s.text())
		if now != "" && testName(s.text()) == "" && len(plain) > 2 && strings.HasSuffix(strings.ToLower(now), strings.ToLower(plain)) {
			list = append(list, s.about(name+" is "+now+" now"))
		}
	}
	return list
}

// testSkip finds what keeps a test, or all others, from running.
var testSkip = texts.Pattern(`\b[tb]\.Skip(?:f|Now)?\(` + // Go
	`|@(?:unittest\.|pytest\.mark\.)?(?:skip(?:[iI]f|Unless)?|xfail|expectedFailure)\b|\bpytestmark\s*=.*(?:skip|xfail)` + // Python
	`|\bpytest\.(?:skip|xfail)\(|\bself\.skipTest\(|\bmark\.(?:skip|xfail)\b` +
	`|\b(?:it|test|describe|context|suite)\.(?:skip|skipIf|runIf|only|todo|fixme|failing|fails)\b` + // JavaScript
	`|\b(?:xit|xtest|xdescribe|fit|fdescribe)\(|\bthis\.skip\(\)` +
	`|#\[ignore|@Disabled\b|@Ignore\b|\[Ignore\b|\bXCTSkip\(|\bmarkTestSkipped\(|^\s*(?:skip|pending)\s*(?:['"]|$)`)

// always finds a condition that always holds.
var always = texts.Pattern(`(?i)\b(?:skip|run)(?:if|unless)\(\s*(?:true|false|1|0)\b`)

// onlyWhere finds the reason of a test that does not run everywhere.
var onlyWhere = texts.Pattern(`skip(?:If|Unless|if|unless)|xfail\(\s*\w+\.|GOOS|GOARCH|testing\.Short|Getenv|LookPath|Get[eu]uid|platform|version|` +
	`process\.env|environ|importorskip|nodeVersion`)

// excluded finds what keeps files of tests from being found.
var excluded = texts.Pattern(`--deselect|--ignore(?:-glob)?[= ]|\s-k\s+['"]?not\b|\bcollect_ignore|testPathIgnorePatterns|norecursedirs|` +
	`\bgo test\b.*-skip\b|--test-skip|--exclude[= ]\S*(?:test|spec)|^\s*//go:build (?:ignore|never|skip|manual|broken|disabled)\b|` +
	`__test__\s*=\s*False|#\[cfg\(any\(\)\)\]|@pytest\.mark\.(?:slow|manual|disabled)\b`)

// skippedTests finds tests that do not run any more. conditional chooses those that run in some
// places.
func skippedTests(conditional bool) func(Work) []Place {
	return func(w Work) []Place {
		var list []Place
		for s := range w.fresh(testCode) {
			if text := s.text(); testSkip().MatchString(text) {
				where := onlyWhere().MatchString(text) && !always().MatchString(text) || strings.Contains(text, "t.Skip") &&
					(onlyWhere().MatchString(s.near(-1)) || onlyWhere().MatchString(s.near(-2)) || strings.HasPrefix(strings.TrimSpace(s.near(-1)), "if "))
				if where == conditional {
					list = append(list, s.place())
				}
			} else if buildTag().MatchString(text) && s.file.What != Created && hidesTest(s) && someSystem().MatchString(text) == conditional {
				list = append(list, s.place())
			}
		}
		if conditional {
			return list
		}
		for name := range namesOf(lostTests(w)) {
			list = append(list, renamedTests(w, name)...)
		}
		list = append(list, untaggedTests(w)...)
		for s := range w.fresh(testFile) {
			if constructor().MatchString(s.text()) && testClass().MatchString(s.around()[0]) {
				list = append(list, s.place())
			}
		}
		list = append(list, files(func(_ Work, f *FileDiff) bool {
			return f.What == Renamed && system().MatchString(f.Name) && !system().MatchString(f.Old)
		})(w)...)
		return append(list, added(func(f *FileDiff) bool { return !isExample(f.Name) }, excluded)(w)...)
	}
}

// testTag finds what makes a function a test.
var testTag = texts.Pattern(`^\s*(?:#\[(?:\w+::)*test(?:\(.*\))?\]|@(?:org\.junit\.)?Test\b)`)

// untaggedTests finds functions that stay and are no tests any more.
func untaggedTests(w Work) []Place {
	var list []Place
	for s := range w.lines('-', testCode) {
		if !testTag().MatchString(s.text()) {
			continue
		}
		for i := s.i + 1; i < len(s.hunk.Lines); i++ {
			f := spot{s.file, s.hunk, i}
			name := functionName(f.text())
			if name == "" || s.hunk.Lines[i].Kind == '+' {
				continue
			}
			if s.hunk.Lines[i].Kind == ' ' && !testTag().MatchString(f.near(-1)) && !testTag().MatchString(f.near(-2)) {
				list = append(list, s.about(name+" is no test any more"))
			}
			break
		}
	}
	return list
}

// buildTag finds a condition for a whole file or module of tests, someSystem one for a system or a release.
var (
	buildTag   = texts.Pattern(`^//go:build\s|^#!?\[cfg\((?:not\()?feature\b|^#!?\[cfg\(all\(test,\s*(?:not\()?feature\b`)
	someSystem = texts.Pattern(`^//go:build (?:!?\(?!?(?:linux|darwin|windows|unix|\w*bsd|solaris|aix|js|wasm|wasip1|plan9|android|ios|amd64|arm64|386|arm|s390x|cgo|race|go1\.\d+)\)?(?:\s*(?:&&|\|\|)\s*)?)+$`)
)

// oneItem begins a condition for one item of Rust.
var oneItem = texts.Pattern(`^#\[cfg\((?:not\()?feature\b`)

// hidesTest reports whether a condition is about tests that were there before: in Rust, most are about other code.
func hidesTest(s spot) bool {
	if !oneItem().MatchString(s.text()) {
		return true
	}
	for _, l := range s.hunk.Lines[s.i+1:] {
		switch {
		case testTag().MatchString(l.Text), strings.HasPrefix(l.Text, "mod test"):
			return l.Kind == ' '
		case !strings.HasPrefix(strings.TrimSpace(l.Text), "#["):
			return false
		}
	}
	return false
}

// testClass begins a class of tests in Python, constructor what keeps pytest from collecting it.
var (
	testClass   = texts.Pattern(`^class Test\w*(?:\(\s*(?:object)?\s*\))?:`)
	constructor = texts.Pattern(`^\s+def __(?:init|new)__\(`)
)

// system finds test files of Go that belong to one system by their names.
var system = texts.Pattern(`_(?:linux|darwin|windows|freebsd|netbsd|openbsd|plan9|solaris|aix|js|wasip1|android|ios|amd64|arm64|386|arm|s390x|wasm|mips\w*|ppc64\w*|riscv64)_test\.go$`)

// namesOf returns the names of tests, each once.
func namesOf(list []spot, _ int) map[string]bool {
	names := map[string]bool{}
	for _, s := range list {
		names[testName(s.text())] = true
	}
	return names
}

// assertion finds a line that checks something in a test.
var assertion = texts.Pattern(`\b(?:assert|expect|require|should|verify|must|ensure|check)\w*[.!(]|\bassert\s|\b[tb]\.(?:Error|Fatal|Fail)\w*\(|` +
	`\bself\.assert\w+\(|\b(?:EXPECT|ASSERT)_\w+\(|\bXCTAssert\w*\(|\.should\b|\bwith pytest\.raises`)

// comment begins a line that is a comment.
var comment = texts.Pattern(`^\s*(?:#[^\[!]|//|\*|/\*|--\s)`)

func isAssertion(text string) bool {
	return assertion().MatchString(text) && testName(text) == "" && !comment().MatchString(text)
}

// truism finds an assertion that always holds.
var truism = texts.Pattern(`\bassert\s+(?:True|1|not False|1 == 1)\s*(?:$|,|#)|assertTrue\(\s*True\b|assertFalse\(\s*False\b|` +
	`expect\(\s*(?:true|1)\s*\)\.(?:toBe|toEqual|toBeTruthy)\(\s*(?:true|1)?\s*\)|\b(?:assert|require)\.True\(t, true\b|` +
	`\bassert!\(\s*true\s*[,)]|\bassert\.(?:ok|isTrue)\(\s*true\s*[,)]|\bassert\s+.*\bor True\b|\|\|\s*true\s*(?:\)\s*;?|\{)$`)

// compared finds the two sides of a comparison for equality.
var compared = texts.Pattern(`(?:assertEquals?|assertSame|assertIs|[eE]qual|EqualValues|assert_eq!|strictEqual|deepEqual|deepStrictEqual|DeepEqual)\(\s*(?:t,\s*)?(.+)\)` +
	`|\bassert\s+(.+?)\s+==\s+(.+?)\s*(?:,\s*["'f].*)?$|expect\((.+?)\)\.(?:toBe|toEqual|toStrictEqual)\((.+)\)`)

// unequal finds the condition of an assertion in Go, with the names and values that it compares.
var unequal = texts.Pattern(`^\s*if (\w+) := (.+); (\w+) != (.+) \{$`)

// comparesItself reports whether an assertion compares something with itself.
func comparesItself(text string) bool {
	if found := unequal().FindStringSubmatch(text); found != nil {
		return found[1] == found[3] && strings.TrimSpace(found[2]) == strings.TrimSpace(found[4])
	}
	found := compared().FindStringSubmatch(text)
	if found == nil {
		return false
	}
	if found[1] != "" {
		first, rest := firstArg(found[1])
		second, _ := firstArg(rest)
		return first != "" && first == second
	}
	a, b := strings.TrimSpace(found[2]+found[4]), strings.TrimSpace(found[3]+found[5])
	return a == b
}

// firstArg splits the arguments of a call after the first one.
func firstArg(args string) (first, rest string) {
	depth := 0
	for i, r := range args {
		switch r {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				return strings.TrimSpace(args[:i]), args[i+1:]
			}
		}
		if depth < 0 {
			return strings.TrimSpace(args[:i]), ""
		}
	}
	return strings.TrimSpace(args), ""
}

// setBefore finds a variable and its value.
var setBefore = texts.Pattern(`^\s*(?:const |let |var )?([A-Za-z]\w*) :?= (.*[\w)\]]);?$`)

var word = texts.Pattern(`\w+`)

// emptyAssertions finds assertions that cannot fail.
func emptyAssertions(w Work) []Place {
	var list []Place
	for s := range w.fresh(testCode) {
		text := s.text()
		if named := setBefore().FindStringSubmatch(s.near(-1)); named != nil && len(named[2]) > 1 && isAssertion(text) { // what it is compared with is computed
			text = word().ReplaceAllStringFunc(text, func(w string) string {
				if w == named[1] {
					return named[2]
				}
				return w
			})
		}
		if truism().MatchString(text) || comparesItself(text) {
			list = append(list, s.place())
		}
	}
	return list
}

// exact finds an assertion of one value, loose one of many values.
var (
	exact = texts.Pattern(`==|\bassertEquals?\(|assertIs\(|assertSame\(|\bEqual\w*\(|DeepEqual|assert_eq!|[sS]trictEqual\(|\bequal\(|deepEqual\(|` +
		`toMatch\w*Snapshot\(|toBe\(|toEqual\(|toStrictEqual\(|toMatchObject\(|toThrow\(\S|\braises\([\w.]*(?:Error|Warning|Exit|Interrupt)\b`)
	loose = texts.Pattern(`[^=-][<>]=?\s|\sin\s|\bis not None\b|!=\s*nil|assert(?:True|In|NotNone|IsNotNone|IsInstance|Greater\w*|Less\w*|AlmostEquals?)\(|` +
		`\b(?:NotNil|NotEmpty|NoError|Contains|True|Greater|GreaterOrEqual|InDelta)\(|assert!\(|toBeDefined\(|toBeTruthy\(|toContain\(|` +
		`\bexpect\.any|toBeGreaterThan\w*\(|toBeLessThan\w*\(|toThrow\(\)|toBeInstanceOf\(|\bassert\.ok\(|\braises\((?:Base)?Exception\b|isinstance\(|assert_ne!\(|\b(?:assert)?NotEquals?\(|\.not\.to\w+\(|\bassert\s+\w+(?:\.\w+)*\s*$`)
	// differs finds a condition in Go under which a test fails because a value is not the right one, isEmpty one that
	// only asks for any.
	differs = texts.Pattern(`^\s*(?:\} else )?if .*(?:!= [^n\s]|!(?:reflect\.DeepEqual|slices\.Equal|maps\.Equal|bytes\.Equal|cmp\.Equal|errors\.Is)\().*\{$`)
	isEmpty = texts.Pattern(`^\s*(?:\} else )?if .*(?:== (?:""|nil|0)|len\(.*\) (?:== 0|< \d+)|!strings\.(?:Contains|HasPrefix)\(.*\)) \{$`)
	panics  = texts.Pattern(`^\s*#\[should_panic`)
	fails   = texts.Pattern(`^\s*[tb]\.(?:Error|Fatal|Fail)`)
	// quiet finds what prints in place of an assertion, or one that is commented out.
	quiet     = texts.Pattern(`\bt\.Logf?\(|\bconsole\.(?:log|warn)\(|^\s*print\(|^\s*(?:#|//)\s*(?:self\.)?(?:assert|expect|require|t\.(?:Error|Fatal))`)
	tolerance = texts.Pattern(`(?i)delta|places|atol|rtol|\babs\b|\brel\b|approx|closeto|epsilon|tolerance|InDelta|timeout|retries`)
	number    = texts.Pattern(`\d+(?:\.\d+)?(?:e-?\d+)?`)
	literal   = texts.Pattern("\"[^\"]*\"|'[^']*'|`[^`]*`|\\b\\d+(?:\\.\\d+)?\\b|\\b(?:true|false|True|False|None|nil|null)\\b")
)

// weakenedAssertions finds assertions that allow more than the ones that they replace, and tests that are to
// fail from now on.
func weakenedAssertions(w Work) []Place {
	var list []Place
	for s := range w.fresh(testCode) {
		if i := s.i + 1; panics().MatchString(s.text()) && i < len(s.hunk.Lines) && s.hunk.Lines[i].Kind == ' ' && retired().MatchString(s.hunk.Lines[i].Text) {
			list = append(list, s.place())
		}
	}
	for s := range w.fresh(testCode) {
		if unawaited().MatchString(s.text()) {
			list = append(list, s.place())
		}
	}
	for p := range w.pairs(testCode, func(text string) bool {
		return isAssertion(text) || quiet().MatchString(text) || differs().MatchString(text) || isEmpty().MatchString(text)
	}) {
		old, now := p.old.text(), p.now.text()
		switch {
		case differs().MatchString(old):
			if isEmpty().MatchString(now) && !differs().MatchString(now) && fails().MatchString(p.now.near(1)) {
				list = append(list, p.now.place())
			}
		case !isAssertion(old):
		case !isAssertion(now) && quiet().MatchString(now),
			exact().MatchString(old) && !exact().MatchString(now) && loose().MatchString(now) && !loose().MatchString(old),
			anything().MatchString(now) && !anything().MatchString(old),
			holds().MatchString(now) && !holds().MatchString(old),
			widened(old, now),
			depth(now) > depth(old) && onlySometimes().MatchString(p.now.near(-1)):
			list = append(list, p.now.place())
		}
	}
	return list
}

var (
	// unawaited begins an assertion of a promise for which the test does not wait, so that it ends before.
	unawaited = texts.Pattern(`^\s*expect\(.*\)\.(?:not\.)?(?:rejects|resolves)\.`)
	// onlySometimes begins a loop or a condition.
	onlySometimes = texts.Pattern(`^\s*(?:\}?\s*(?:else\s+)?(?:if|for|while|elif)\b|try\b)`)
)

// depth returns how far a line is indented.
func depth(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

// anything is what matchers of JavaScript take for any value, holds an assertion of equality that only asks for a condition.
var (
	anything = texts.Pattern(`\bexpect\.any(?:thing)?\(`)
	holds    = texts.Pattern(`\b\w*[eE]quals?\([^"']*\s(?:[<>]=?|!==?)\s[^"']*,\s*(?:true|True)\b|\bexpect\([^"']*\s(?:[<>]=?|!==?)\s[^"']*\)\.(?:toBe|toEqual)\(true\)`)
)

// widened reports whether two lines differ in the numbers of a tolerance alone, and the new one
// allows more.
func widened(old, now string) bool {
	if !tolerance().MatchString(old) || blank(number, old) != blank(number, now) {
		return false
	}
	before, after := number().FindAllString(old, -1), number().FindAllString(now, -1)
	for i := range before {
		if order := compareNumbers(before[i], after[i]); order != 0 {
			return (order < 0) != strings.Contains(old, "places") && !strings.Contains(old, "toBeCloseTo") || order > 0 && strings.Contains(old, "toBeCloseTo")
		}
	}
	return false
}

// compareNumbers compares two texts that the expression number has found.
func compareNumbers(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64) // the expression lets only numbers through
	y, _ := strconv.ParseFloat(b, 64)
	return cmp.Compare(x, y)
}

// blank returns a line without what an expression finds.
func blank(expr func() *regexp.Regexp, line string) string {
	return expr().ReplaceAllString(strings.TrimSpace(line), "#")
}

// aCase matches a row of a table of cases.
var aCase = texts.Pattern(`^\s*(?:\{.*\}|\(.*\)|\[.*\]|["'\x60].*["'\x60]|-?\d[\d._]*),\s*$`)

// fewerAssertions finds tests that stay and check less: assertions or cases are removed from a hunk that
// removes no test and adds none, or passed over.
func fewerAssertions(w Work) []Place {
	var list []Place
	for i := range w.Files {
		f := &w.Files[i]
		if !testCode(f) || f.What == Deleted {
			continue
		}
		for j := range f.Hunks {
			h, more := &f.Hunks[j], 0
			var removed []Place
			for k, l := range h.Lines {
				s := spot{f, h, k}
				switch text := s.text(); {
				case l.Kind != ' ' && testName(text) != "":
					more = len(h.Lines) // whole tests come and go here
				case l.Kind == '+' && (isAssertion(text) || quiet().MatchString(text)): // the latter has a rule of its own
					more++
				case l.Kind == '+' && aCase().MatchString(text):
					more++
				case l.Kind == '-' && (isAssertion(text) || aCase().MatchString(text)):
					removed = append(removed, s.place())
				}
			}
			if more == 0 {
				list = append(list, removed...)
			}
			if more < len(h.Lines) {
				list = append(list, passedOver(f, h)...)
			}
		}
	}
	for p := range w.pairs(testCode, func(text string) bool { return listed().MatchString(text) }) {
		old, now := p.old.text(), p.now.text()
		if blank(listed, old) == blank(listed, now) && strings.Count(now, ",") < strings.Count(old, ",") {
			list = append(list, p.now.place())
		}
	}
	return list
}

var (
	// listed matches a list of cases in one line, leaves what ends a case early, leavesAtOnce does so by a condition.
	listed       = texts.Pattern(`\[.*\]|\{.*\}`)
	leavesAtOnce = texts.Pattern(`^\s*if\b.*[):{]\s*(?:continue|return|break);?\s*\}?\s*$`)
	leaves       = texts.Pattern(`^\s*(?:continue|return|break);?\s*$`)
)

// passedOver finds cases of tests that a condition passes over from now on.
func passedOver(f *FileDiff, h *Hunk) []Place {
	var list []Place
	for k, l := range h.Lines {
		s := spot{f, h, k}
		if l.Kind == '+' && IsTest(f.Name) && (leavesAtOnce().MatchString(s.text()) || leaves().MatchString(s.text()) && onlySometimes().MatchString(s.near(-1))) {
			list = append(list, s.place())
		}
	}
	return list
}

// isExpected reports whether a file has what tests expect.
func isExpected(name string) bool {
	lower := strings.ToLower(name)
	for _, word := range []string{"golden", "snapshot", "__snapshots__", ".snap", "expected", ".approved.", "fixture", "cassette", "baseline"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return IsTest(name) && !isCode(name)
}

// changedExpectations finds what tests expect and changes together with the code: files, and values
// in assertions.
func changedExpectations(w Work) []Place {
	code := false
	for i := range w.Files {
		code = code || plainCode(&w.Files[i])
	}
	if !code {
		return nil
	}
	list := files(func(_ Work, f *FileDiff) bool { return f.What == Changed && isExpected(f.Name) })(w)
	for s := range w.fresh(testFile) {
		if writes().MatchString(s.text()) && (missing().MatchString(s.near(-1)) || missing().MatchString(s.near(-2))) {
			list = append(list, s.place())
		}
	}
	for p := range w.pairs(func(f *FileDiff) bool { return testCode(f) && isCode(f.Name) && !isExpected(f.Name) }, func(string) bool { return true }) {
		old, now := p.old.text(), p.now.text()
		if strings.TrimSpace(old) != strings.TrimSpace(now) && !comment().MatchString(now) && blank(literal, old) == blank(literal, now) {
			list = append(list, p.now.place())
		}
	}
	return list
}

var (
	// writes finds what makes a file, missing a condition that holds if there is none.
	writes  = texts.Pattern(`(?i)WriteFile(?:Sync)?\(|write_text\(|write_bytes\(|fs::write\(|File\.write\(|Files\.write\w*\(|\.write\(`)
	missing = texts.Pattern(`(?i)NotExist|not\b.*\bexists?\w*\(|!.*exists?\w*\(|FileNotFound|ENOENT|is_file\(\)|NoSuchFile|unless .*exist`)
)

// computedExpectations finds helpers of tests that return what the changed code computes.
func computedExpectations(w Work) []Place {
	changed := map[string]bool{}
	for s := range w.fresh(plainCode) {
		changed[functionName(s.text())] = true
	}
	var list []Place
	for s := range w.fresh(testFile) {
		if found := returnsCall().FindStringSubmatch(s.text()); found != nil && changed[found[1]] || s.takenFromResult() {
			list = append(list, s.place())
		}
	}
	return list
}

// takenFromResult reports whether an assertion compares a part of a value with a variable that comes from the same value.
func (s spot) takenFromResult() bool {
	found := compared().FindStringSubmatch(s.text())
	if found == nil {
		return false
	}
	got, want := strings.TrimSpace(found[2]+found[4]), strings.TrimSpace(found[3]+found[5])
	if found[1] != "" {
		first, rest := firstArg(found[1])
		second, _ := firstArg(rest)
		got, want = first, second
	}
	for _, pair := range [][2]string{{got, want}, {want, got}} {
		of := word().FindString(pair[0])
		if of == "" || of == pair[1] || word().FindString(pair[1]) != pair[1] {
			continue
		}
		for d := -1; d > -8; d-- {
			name, value, ok := strings.Cut(s.near(d), "=")
			if ok && slices.Contains(word().FindAllString(name, -1), pair[1]) && word().FindString(value) == of && !strings.HasPrefix(strings.TrimSpace(value), of+"(") {
				return true
			}
		}
	}
	return false
}

var returnsCall = texts.Pattern(`^\s*(?:return|const expected =|const want =|(?:expected|want)\s*:?=)\s+(?:\w+\.)*(\w+)\(`)

// replaced finds what a test puts a stand-in for.
var replaced = texts.Pattern(`\b(?:mock\.)?patch(?:\.object)?\(\s*["']?([\w.]+)|\bmonkeypatch\.setattr\(\s*["']?([\w.]+)|\b(?:vi|jest)\.(?:mock|doMock|spyOn)\(\s*["']?([\w./@-]+)|\bgomonkey\.Apply\w*\(\s*([\w.]+)`)

// mocked finds stand-ins for code that changes. In Python "pkg.rates.requests.get" replaces what rates uses, and is no stand-in
// for it.
func mocked(w Work) []Place {
	changed := map[string]bool{}
	for i := range w.Files {
		if f := &w.Files[i]; plainCode(f) {
			changed[stem(baseOf(f))], changed[path.Base(path.Dir(f.Name))] = true, true
		}
	}
	var list []Place
	for s := range w.fresh(testFile) {
		for _, found := range replaced().FindAllStringSubmatch(s.text(), -1) {
			name := strings.Join(found[1:], "")
			parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '.' })
			if strings.ContainsAny(name, "/") && changed[stem(path.Base(name))] || !strings.Contains(name, "/") && len(parts) > 1 && changed[parts[len(parts)-2]] {
				list = append(list, s.place())
				break
			}
		}
	}
	return list
}

// emptyTests finds new tests that check nothing: none of their lines is an assertion, fails, or calls what is named like one.
func emptyTests(w Work) []Place {
	var list []Place
	for s := range w.fresh(testFile) {
		name := testName(s.text())
		if name == "" || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "TestMain") {
			continue
		}
		checks, end := strings.Count(s.text(), "=>") > 1, s.i+1 // a test in one line
		for ; end < len(s.hunk.Lines) && s.hunk.Lines[end].Kind == '+'; end++ {
			line := clipped(s.hunk.Lines[end].Text)
			if strings.TrimSpace(line) != "" && depth(line) <= depth(s.text()) {
				break
			}
			checks = checks || checking().MatchString(line) && !quiet().MatchString(line) && !comment().MatchString(line)
		}
		if !checks && end > s.i+2 && (end == len(s.hunk.Lines) || s.hunk.Lines[end].Kind == '+') {
			list = append(list, s.about(name))
		}
	}
	return list
}

// checking finds what may fail a test.
var checking = texts.Pattern(`(?i)assert|expect|require|should|verif|must|ensure|check|fail|fatal|error\(|errorf\(|raise|throw|panic|want|compare|equal|match|same|unwrap\(|\?;|\brun\w*\(\s*t\b|\bt\.run\(|\btest\w*\(|diff|golden|snapshot|\.done\b|\bdone\(|benchmark`)
