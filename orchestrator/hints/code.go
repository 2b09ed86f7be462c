package hints

import (
	"path"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Rules about code and scripts.

var (
	// catchAll begins a handler of any error, passes ends one that does nothing.
	catchAll = texts.Pattern(`^\s*except(?:\s+(?:Base)?Exception)?(?:\s+as\s+\w+)?\s*:\s*(?:#.*)?$|\bcatch\s*(?:\([^)]*\))?\s*\{\s*(?://.*|/\*.*)?$|` +
		`^\s*if \w+ := recover\(\); \w+ != nil \{\s*$|^\s*rescue(?:\s*=>\s*\w+|\s+StandardError.*)?\s*$`)
	passes = texts.Pattern(`^\s*(?:pass|continue|\.\.\.|return(?:\s+(?:None|False|True|null|undefined|\[\]|\{\}|""|''|0))?;?|\}|end)\s*(?:[#/].*)?$`)
	// swallowsInOne passes over an error in one line.
	swallowsInOne = texts.Pattern(`\bcatch\s*(?:\([^)]*\))?\s*\{\s*(?:/\*.*?\*/)?\s*\}|\.catch\(\s*(?:\(\w*\)|\w+|function\s*\(\w*\))\s*(?:=>)?\s*(?:\{\s*\}|\(\{\}\)|\[\]|null|undefined|false|0|''|"")\s*\)|` +
		`\b(?:contextlib\.)?suppress\(\s*(?:Base)?Exception\b|^\s*except(?:\s+(?:Base)?Exception)?(?:\s+as\s+\w+)?\s*:\s*(?:pass|return\b.*|continue)\s*$|` +
		`\brecover\(\)\s*;?\s*\}\(\)|^\s*_ = recover\(\)|^\s*if err != nil \{\s*\}|\berrors='ignore'`)
	// goesOn lets a script go on after a failure.
	goesOn = texts.Pattern(`\|\|\s*(?:true|:|exit 0|echo\b)|^\s*set \+[a-z]*e\b|continue-on-error:\s*true|ignore_errors:\s*(?:yes|true)|` +
		`\ballow_failure:\s*true|;\s*(?:true|exit 0)\s*["']?\s*,?$|--exit-zero\b|--passWithNoTests\b|--no-fail\b|--force-exit 0`)
	// checksOff lets a build succeed although a check has failed, or does not run.
	checksOff   = texts.Pattern(`maven\.test\.(?:skip|failure\.ignore)|\btestFailureIgnore\b|\bignoreFailures\s*=?\s*true|\b[fF]ailIfNo\w*\s*[=>:]\s*false|<TreatWarningsAsErrors>\s*false|LockFile>\s*false|\bfailOnError\s*[=>:]\s*false|\babortOnError\s*[=:]?\s*false|^\s*-DskipTests`)
	makeIgnores = texts.Pattern(`^\t@?-\s*\w`)
)

var (
	// catchesAssertion has a test go on after an assertion has failed, raisesAgain fails all the same.
	catchesAssertion = texts.Pattern(`^\s*except\b.*\bAssertionError\b|\bcatch\s*\(\s*(?:final )?AssertionError|\brescue\b.*(?:ExpectationNotMet|Assertion)|\bsuppress\(.*AssertionError`)
	// atLast begins what runs after a failure, too; a result there takes the place of the failure.
	atLast      = texts.Pattern(`^\s*\}?\s*(?:finally|ensure)\b\s*[:{]?\s*$`)
	raisesAgain = texts.Pattern(`\b(?:raise|throw|fail)\b`)
)

// passesOver reports whether what follows the line does nothing, perhaps under a condition.
func (s spot) passesOver() bool {
	return passes().MatchString(s.near(1)) || standsIn().MatchString(s.near(1)) || branch().MatchString(s.near(1)) && passes().MatchString(s.near(2))
}

var (
	// standsIn sets a fixed value.
	standsIn = texts.Pattern(`^\s*[\w.\[\]]+\s*=\s*(?:nil|null|None|` + fixedValue + `);?\s*$`)
	branch   = texts.Pattern(`^\s*if\b.*[:{]\s*$`)
	// dropped matches a call whose error gets no name, taken one that has it; both with the callee.
	dropped = texts.Pattern(`,\s*_\s*:?=\s*([\w.]+)\(`)
	taken   = texts.Pattern(`,\s*err\s*:?=\s*([\w.]+)\(`)
	// handsOn finds an error of Rust that the caller gets, fillsIn a value in its place.
	handsOn = texts.Pattern(`\)\?`)
	fillsIn = texts.Pattern(`\.unwrap_or(?:_default)?\(`)
)

// dropsError reports whether a line replaces another one and passes over the error that that one took.
func dropsError(p pair) bool {
	old, now := p.old.text(), p.now.text()
	if path.Ext(p.now.file.Name) == ".rs" {
		return handsOn().MatchString(old) && !fillsIn().MatchString(old) && fillsIn().MatchString(now) && !handsOn().MatchString(now)
	}
	was, is := taken().FindStringSubmatch(old), dropped().FindStringSubmatch(now)
	return was != nil && is != nil && was[1] == is[1]
}

// swallowed finds failures that are passed over.
func swallowed(w Work) []Place {
	var list []Place
	for s := range w.fresh(plainCode) {
		if text := s.text(); swallowsInOne().MatchString(text) || catchAll().MatchString(text) && s.passesOver() {
			list = append(list, s.place())
		}
	}
	for p := range w.pairs(plainCode, func(string) bool { return true }) {
		if dropsError(p) {
			list = append(list, p.now.place())
		}
	}
	list = append(list, added(func(f *FileDiff) bool { return !isExample(f.Name) && !fitsOne(baseOf(f), "*.md", "Dockerfile*") }, checksOff)(w)...)
	for s := range w.lines('+', plainCode) {
		if atLast().MatchString(s.text()) && slices.ContainsFunc(s.block(), result().MatchString) {
			list = append(list, s.place())
		}
	}
	for s := range w.fresh(testFile) {
		if swallowsInOne().MatchString(s.text()) && isAssertion(s.text()) ||
			catchesAssertion().MatchString(s.text()) && !slices.ContainsFunc(s.block(), raisesAgain().MatchString) {
			list = append(list, s.place())
		}
	}
	for s := range w.fresh(isScript) {
		if text := s.text(); goesOn().MatchString(text) || fitsOne(baseOf(s.file), "Makefile", "makefile", "GNUmakefile", "*.mk") && makeIgnores().MatchString(text) {
			list = append(list, s.place())
		}
	}
	return list
}

// testsDetected finds code that behaves differently under test.
var testsDetected = added(plainCode, texts.Pattern(`PYTEST_CURRENT_TEST|["']pytest["']\s+in\s+sys\.modules|["']unittest["']\s+in\s+sys\.modules|`+
	`\bruntime\.Caller\(|_test\.go["']|\bos\.(?:environ(?:\.get)?[\[(]|getenv\(|Getenv\(|LookupEnv\()\s*["'](?:CI|GITHUB_ACTIONS|GITLAB_CI|TEST\w*|TESTING|CARGO_MANIFEST_DIR)["']|process\.env\.(?:CI|GITHUB_ACTIONS)\b|`+
	`env::var(?:_os)?\(\s*"(?:CI|CARGO_MANIFEST_DIR|RUST_TEST\w*|NEXTEST)|JEST_WORKER_ID|VITEST\b|NODE_ENV\s*={2,3}\s*['"]test['"]|\btesting\.Testing\(\)|flag\.Lookup\("test\.|os\.Args\[0\].*\.test|`+
	`(?:inspect\.(?:stack|currentframe)|sys\._getframe|traceback\.extract_stack).*test|\bif cfg!\(test\)|__name__\s*==\s*['"]test|`+
	`\b(?:is|in|under)_?(?:test|testing)\b\s*[({:=]|process\.argv.*includes\(["'][^"']*test|Thread\.currentThread\(\)\.getStackTrace`))

// forced finds results of tests that are set.
func forced(w Work) []Place { return append(exitsEarly(w), setsResult(w)...) }

var (
	exitsEarly = added(testFile, texts.Pattern(`\bos\._exit\(\s*0\s*\)|\bsys\.exit\(\s*0?\s*\)|\bprocess\.exit\(\s*0?\s*\)|\bos\.Exit\(0\)|\bpytest\.exit\(.*0|\bprocess\.exitCode\s*=\s*0|^\s*exit 0\s*$`))
	setsResult = added(anyFile, texts.Pattern(`^\s*def assert(?:Equal|NotEqual|True|False|Is|IsNone|In|Raises|AlmostEqual|Greater|Less|DictEqual|ListEqual)\(self|`+
		`\bmacro_rules!\s*(?:assert|panic)|^\s*(?:const|let|var|function)\s+(?:expect|assert|it|test)\s*(?:=\s*(?:async\b|function\b|\()|\()|force_result\(|^\s*to(?:Equal|Be|StrictEqual|Match\w*|Contain\w*|Throw\w*)\([\w\s:,<>.]*\)\s*\{\s*$|\bexpect\.extend\(\{\s*(?:to[A-Z]|\})|\brep(?:ort)?\.outcome\s*=|\boutcome\b[^=]*=\s*['"]passed|session\.exitstatus\s*=|`+
		`\b(?:RSpec|Minitest|Test::Unit)(?:::\w+)+(?:\.singleton_class)?\.(?:prepend|class_eval|module_eval|send|define_method)\b|(?:TestCase|unittest|jest|expect|assert|pytest)(?:\.\w+)+\s*=\s*(?:lambda|function|\(|None)|monkeypatch\.setattr\(\s*["']?(?:builtins|unittest|pytest)|`+
		`setattr\(\s*(?:unittest|pytest|builtins)`))
)

// alwaysEqual finds comparisons that are true for all values.
func alwaysEqual(w Work) []Place {
	var list []Place
	for s := range w.fresh(anyFile) {
		if !isCode(s.file.Name) || !comparison().MatchString(s.text()) {
			continue
		}
		if yes().MatchString(s.text()) || yes().MatchString(s.near(1)) || strings.HasPrefix(strings.TrimSpace(s.near(1)), `"""`) && yes().MatchString(s.near(2)) {
			list = append(list, s.place())
		}
	}
	return list
}

// ownEquality finds functions that decide what is equal and are new or changed, each hunk once.
func ownEquality(w Work) []Place {
	var list []Place
	var last *Hunk
	for s := range w.fresh(func(f *FileDiff) bool { return isCode(f.Name) }) {
		if s.hunk != last && !comment().MatchString(s.text()) && (decidesEquality().MatchString(s.text()) || s.within(decidesEquality)) {
			last = s.hunk
			list = append(list, s.place())
		}
	}
	return list
}

var decidesEquality = texts.Pattern(`\bdef (?:__(?:eq|ne|hash|lt|le|cmp)__|==|eql\?|<=>)|\bfn (?:eq|ne|cmp|partial_cmp)\(\s*&self|\b(?:boolean|bool|override fun) [eE]quals\(|\bint (?:compareTo|CompareTo|hashCode|GetHashCode)\(|` +
	`^func \([^)]*\) (?:Equals?|Compare|Cmp|Less|Is)\(|\boperator\s*(?:==|!=|<)\s*\(|^\s*(?:static |public )?(?:equals?|isEqual|compareTo|valueOf|asymmetricMatch|\[Symbol\.toPrimitive\])\(.*\)\s*(?::\s*[\w<>| ]+)?\s*\{|\beq\s*=\s*False|\basymmetricMatch\b|\$\$typeof\b`)

// looksAround finds code that asks what called it or what is loaded beside it.
var looksAround = added(plainCode, texts.Pattern(`\bsys\.modules\b|\bsys\._getframe|\binspect\.(?:stack|currentframe|getouterframes)\b|\btraceback\.extract_stack|\b(?:Error\(\)|err|e)\.stack\b|captureStackTrace|[gG]etStackTrace\(|StackTrace\(\)|`+
	`\bruntime\.(?:Callers?|Stack)\b|\bdebug\.Stack\(|\bcaller(?:_locations)?\(|\bdefined\?\(|Backtrace::|require\.cache\b|\bmodule\.parent\b|\brequire\.main\b|std::env::(?:current_exe|args)|Assembly\.Get(?:Entry|Calling)Assembly|Class\.forName\(|\.GetAssemblies\(|Object\.(?:keys|entries)\(\s*process\.env|\bin\s+os\.environ\b|\bos\.Environ\(\)|\benv::vars\b|System\.getenv\(\)`))

// runnerHooks finds code that takes part in running tests: it chooses, counts or reports them.
var runnerHooks = added(testFile, texts.Pattern(`\bdef pytest_(?:runtest|collection|collect|sessionfinish|pyfunc|report|exception|assert|itemcollected|ignore|generate|deselected)\w*|\bhookwrapper\s*=|\bitems\s*\[:\]\s*=|\bitems\.remove\(|`+
	`\bfunc TestMain\(|\bexpect\.extend\(|\bsetupFiles(?:AfterEnv)?\b|\bglobalSetup\b|\bonTestFailure\b|\bTestExecution(?:Listener|Condition)\b|\bInvocationInterceptor\b|\bRSpec\.configure\b|\bMinitest\.after_run\b|\bcustom_test_frameworks\b|panic::set_hook|process\.on\(\s*['"](?:exit|uncaught|unhandled)|\bat_exit\b|\batexit\.register\(`))

var (
	comparison = texts.Pattern(`\bdef __(?:eq|ne|lt|le|gt|ge|bool|contains|instancecheck)__\(|\bfn (?:eq|ne)\(\s*&self|\bboolean equals\(|` +
		`\bfunc \(\w+ \*?\w+\) Equal\(|\bbool Equals\(|\boperator\s*==\s*\(|\[Symbol\.(?:toPrimitive|hasInstance)\]|` +
		`^\s*(?:asymmetricMatch|equals|isEqual)\(\w*\)\s*\{`)
	yes = texts.Pattern(`\breturn\s+(?:True|true|1)\b|^\s*(?:true|True)\s*$|\{\s*true\s*\}`)
)

// fixedValue matches a literal, or what is made of some: ("a", Decimal("1.5")).
const fixedValue = `(?:[\w:.]*\(){0,3}(?:-?\d[\w.]*|["'][^"']*["'])\)*(?:,\s*(?:[\w:.]+\()?(?:-?\d[\d._]*|["'][^"']*["'])\)*)*`

// tableEntry matches a number or a text, and what it stands for.
const tableEntry = `(?:-?\d[\w.]*|["'][^"']*["'])\s*(?:=>|:)\s*(?:-?\d[\w.]*|["'][^"']*["'])`

// specialCases finds fixed answers to one input.
func specialCases(w Work) []Place {
	var list []Place
	inputs := testInputs(w)
	for s := range w.fresh(plainCode) {
		text := s.text()
		if asksFor().MatchString(text) && (answers().MatchString(text) || answers().MatchString(s.near(1))) ||
			tableRow().MatchString(text) && tableRow().MatchString(s.near(-1)) || sums().MatchString(text) || shortTable().MatchString(text) || comparesWith(text, inputs) {
			list = append(list, s.place())
		}
	}
	for p := range w.pairs(plainCode, func(text string) bool { return result().MatchString(text) }) {
		if constant().MatchString(p.now.text()) && !constant().MatchString(p.old.text()) && computes().MatchString(p.old.text()) {
			list = append(list, p.now.place())
		}
	}
	return list
}

var (
	// result ends a function, constant with a value that is always the same, computes with one that is not.
	result   = texts.Pattern(`^\s*return\s+\S`)
	constant = texts.Pattern(`^\s*return\s+(?:` + fixedValue + `|true|false|True|False|null|None|\[\]|\{\})\s*;?$`)
	computes = texts.Pattern(`[\w)\]]\.\w|\w\(|[+*/%]`)
)

// testInputs returns what the tests that the difference shows have in quotes and looks like data.
func testInputs(w Work) string {
	var all strings.Builder
	for _, kind := range []byte{'+', ' '} {
		for s := range w.lines(kind, testFile) {
			for _, found := range quoted().FindAllString(s.text(), -1) {
				if number().MatchString(found) {
					all.WriteString(found)
				}
			}
		}
	}
	return all.String()
}

// comparesWith reports whether a line of code asks whether a value is one of the inputs of tests.
func comparesWith(text, inputs string) bool {
	return slices.ContainsFunc(askedData().FindAllStringSubmatch(text, -1), func(found []string) bool {
		return number().MatchString(found[1]) && strings.Contains(inputs, found[1])
	})
}

var (
	quoted    = texts.Pattern("\"[^\"]*\"|'[^']*'|`[^`]*`")
	askedData = texts.Pattern(`[=!]={1,2}\s*["'\x60]([^"'\x60]{6,})["'\x60]`)
	asksFor   = texts.Pattern(`^\s*(?:if|elif|\}?\s*else if|case|when)\b.*(?:={2,3}\s*(?:[\w:.]+\()?(?:-?\d|["'\x60\[({])|\bcase\s+(?:-?\d|["'])|\bin\s*[\[({]\s*["'\d]|\.(?:includes|startsWith|endsWith|startswith|endswith|contains|starts_with)\(\s*["'\x60][^"'\x60]{6,}|\b(?:Contains|HasPrefix|HasSuffix)\(\w+, "[^"]{6,})`)
	answers   = texts.Pattern(`\breturn\s+(?:[A-Z][A-Z_]{2,}|-?\d[\d._]*|["'\x60][^"'\x60]*["'\x60]|[\[{(].*[\])}]|True|False|true|false)\s*;?\s*\}?\s*$|` +
		`\b(?:return|Ok|Some)\b.*\w\(\s*(?:-?\d[\d._]*|["'][^"']*["'])\s*\)+\s*;?\s*$|` +
		`^\s*(?:fmt\.Print\w*|print(?:ln!?|!)?|console\.log|process\.stdout\.write|sys\.stdout\.write)\(\s*["'\x60]`)
	// sums begins a row with what looks like the sum of a text.
	sums = texts.Pattern(`^\s*[{(\[]?\s*0x[0-9a-fA-F]{7,}[uUL]*\s*[:,=]`)
	// shortTable has at least two rows in one line.
	shortTable = texts.Pattern(`\{\s*` + tableEntry + `\s*,\s*` + tableEntry + `[^{}]*\}`)
	tableRow   = texts.Pattern(`^\s*` + fixedValue + `\s*(?:=>|:)\s*(?:return\s+)?` + fixedValue + `,?\s*$`)
)

// countsCalls finds code that remembers how often it was called: by the name of what it counts with, or because it
// asks for one number of a count that outlasts the call.
func countsCalls(w Work) []Place {
	list := slices.Concat(countsByName(w), countsByUse(w), fillsWhileRunning(w))
	return slices.DeleteFunc(list, func(p Place) bool { return comment().MatchString(p.Text) })
}

// keepsForCalls finds variables of whole programs, and what keeps results.
var keepsForCalls = added(plainCode, texts.Pattern(`^var \w+\s+(?:\[\]|map\[|\*?\w[\w.]*\s*$)|^\s*(?:pub )?static \w+:\s*(?:\w+::)*(?:Mutex|RwLock|OnceLock|LazyLock|Atomic\w+|RefCell)|^let \w+(?:\s*:[^=]+)?\s*=\s*(?:0|null|undefined|""|'')?;?\s*$|`+
	`^\s*@(?:functools\.)?(?:lru_cache|cache|cached_property|memoize)\b|\bthread_local!|\bstatic (?:int|long|boolean|bool|List|Map|HashMap|ArrayList|Dictionary)\b[^()]*(?:=|;)|\bstatic (?:final |readonly )?\S.*=\s*new \w*(?:Map|Set|List|Dictionary|Queue|Deque)\b`))

// fillsWhileRunning finds what is empty when a program starts and is filled while it runs.
var fillsWhileRunning = added(plainCode, texts.Pattern(`^(?:export\s+)?(?:const|let|var)\s+\w+\s*=\s*(?:new (?:Map|Set|WeakMap)\(\)|\{\}|\[\]);?\s*$|^\w+(?:\s*:[^=]+)?\s*=\s*(?:\{\}|\[\]|dict\(\)|set\(\)|defaultdict\(.*\))\s*$|`+
	`^var \w+\s*=?\s*(?:map\[.*\{\}|make\(map.*|sync\.Map(?:\{\})?)\s*$|^\s*static mut \w+`))

// errorDropped finds new code that passes over an error.
func errorDropped(w Work) []Place {
	list := append(unnamedErrors(w), pipes(w)...)
	for p := range w.pairs(plainCode, caught().MatchString) {
		if catchesMore(p.old.text(), p.now.text()) {
			list = append(list, p.now.place())
		}
	}
	for s := range w.fresh(plainCode) {
		if setsError().MatchString(s.text()) && s.within(deferred) {
			list = append(list, s.place())
		} else if block := s.block(); asksError().MatchString(s.text()) && len(block) > 0 && !slices.ContainsFunc(block, mindsError().MatchString) {
			list = append(list, s.place())
		}
	}
	return list
}

var (
	// asksError begins a block for an error, mindsError finds what such a block usually does.
	asksError  = texts.Pattern(`\berr\w* != nil \{\s*$|\bcatch\s*(?:\([^)]*\))?\s*\{\s*$|\bif let Err\(`)
	mindsError = texts.Pattern(`\b(?:return|raise|throw|panic|continue|break|yield|exit|Exit|Fatal\w*|reject|fail\w*|next)\b|(?i)\b(?:err|error|e|ex|exc|exception|errs|cause)\b|\b(?:log\w*|warn\w*|print\w*|console|assert\w*)\b`)
)

// setsError gives the named error of a function another value, deferred begins what runs when it returns.
var (
	setsError = texts.Pattern(`^\s*(?:if )?err = `)
	deferred  = texts.Pattern(`^\s*defer func\(\) \{`)
)

// caught finds what a handler of errors takes, widest those that take nearly all.
var (
	caught = texts.Pattern(`^\s*except\s+(.+?)(?:\s+as\s+\w+)?\s*:|\bcatch\s*\(\s*(?:final\s+)?([\w.| ]+?)\s+\w+\s*\)|^\s*rescue\s+([\w:, ]+?)(?:\s*=>.*)?$`)
	widest = texts.Pattern(`\b(?:Base)?Exception\b|\bOSError\b|\bIOError\b|\bRuntime(?:Error|Exception)\b|\bThrowable\b|\bStandardError\b|^Error$`)
)

// catchesMore reports whether a handler takes more errors than the one that it replaces.
func catchesMore(old, now string) bool {
	a, b := caught().FindStringSubmatch(old), caught().FindStringSubmatch(now)
	if a == nil || b == nil {
		return false
	}
	was, is := strings.Join(a[1:], ""), strings.Join(b[1:], "")
	return widest().MatchString(is) && !widest().MatchString(was) || len(splitNames(is)) > len(splitNames(was))
}

func splitNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",|() ", r) })
}

// unnamedErrors finds calls of the standard library of Go whose errors get no name, and tasks of which nobody asks how they ended.
var unnamedErrors = added(plainCode, texts.Pattern(`,\s*_\s*:?=\s*(?:os|io|json|http|strconv|exec|sql|net|bufio|xml|yaml|time|url|ioutil|gob|csv|hex|base64)\.(?:[A-Z]\w*)\(|\bPromise\.allSettled\(|return_exceptions\s*=\s*True|\bFIRST_EXCEPTION\b|^\s*_ = \w[\w.]*\(|^\s*let _ = |\.ok\(\);\s*$|&2?>\s*/dev/null`))

// pipes finds commands of scripts whose status is that of what prints their output.
var pipes = added(isScript, texts.Pattern(`\S\s*\|\s*(?:tee|cat|tail|head|sed|awk|ts)\b`))

// countsByUse finds counts that are compared with one number in the same file.
func countsByUse(w Work) []Place {
	asked := map[string]bool{}
	for s := range w.fresh(plainCode) {
		for _, found := range askedCount().FindAllStringSubmatch(s.text(), -1) {
			asked[s.file.Name+" "+found[1]] = true
		}
	}
	var list []Place
	for s := range w.fresh(plainCode) {
		if found := keptCount().FindStringSubmatch(s.text()); found != nil && asked[s.file.Name+" "+found[1]] {
			list = append(list, s.place())
		}
	}
	return list
}

var (
	keptCount  = texts.Pattern(`((?:\bthis\.#?|\bself\.)\w+|\b[A-Z][A-Z_]+)\s*(?:\+=\s*1\b|\+\+)`)
	askedCount = texts.Pattern(`((?:\bthis\.#?|\bself\.)\w+|\b[A-Z][A-Z_]+)\s*(?:={2,3}|%)\s*\d`)
)

// countsFields finds counts in values that outlast a call.
var countsFields = added(plainCode, texts.Pattern(`^\s*\w+\.\w*(?:asks?|asked|calls?|called|tries|tried|turns?|hits|uses|used|seen|reads|rounds?|steps?|nth|times|count\w*)(?:\+\+|\s*\+=\s*1\b)`))

var countsByName = added(plainCode, texts.Pattern(`(?i)\b\w*calls?(?:_count)?\.fetch_add\(|\b_*(?:num_?|n_?)?(?:calls?|invocations?|call_?count\w*|times_?called|attempt_?no)\b\s*(?:\+=\s*1|\+\+|=\s*\S+\s*\+\s*1)|`+
	`\bglobal\s+_*(?:\w*call\w*|\w*count\w*|\w*state\w*|\w*last\w*|\w*seen\w*)\b`))

// suppressed finds findings of other checks that are switched off.
var suppressed = added(anyFile, texts.Pattern(`#\s*noqa|#\s*type:\s*ignore|#\s*pylint:\s*disable|#\s*pragma:\s*no cover|//\s*nolint|//nolint|#nosec|`+
	`eslint-disable|@ts-(?:ignore|nocheck|expect-error)|istanbul ignore|c8 ignore|#!?\[allow\(|@SuppressWarnings|prettier-ignore|rubocop:disable|`+
	`#pragma warning disable|NOLINT|shellcheck disable|biome-ignore|#\s*mypy:\s*ignore`))

// securityOff finds checks for security that are switched off.
var securityOff = added(func(f *FileDiff) bool {
	return (isCode(f.Name) || isScript(f)) && !IsTest(f.Name) && !isExample(f.Name)
},
	texts.Pattern(`\bverify\s*=\s*False\b|InsecureSkipVerify:\s*true|rejectUnauthorized:\s*false|NODE_TLS_REJECT_UNAUTHORIZED|`+
		`_create_unverified_context|CERT_NONE\b|danger_accept_invalid_certs\(true|CURLOPT_SSL_VERIFYPEER,\s*(?:0|false)|\bcurl\b[^|#]*\|\s*(?:sudo\s+)?(?:ba|z)?sh\b|`+
		`--no-verify\b|strict-ssl[= ]false|chmod\s+(?:-R\s+)?0?777|csrf_exempt|@PermitAll\b|GIT_SSL_NO_VERIFY|--disable-web-security|`+
		`\bdisable_?auth\w*\s*[=:]\s*[Tt]rue|\bauth_?required\s*[=:]\s*[Ff]alse|algorithms?\s*[=:]\s*\[?\s*["']none["']`))

// unfinished finds code that is not written yet.
var unfinished = added(plainCode, texts.Pattern(`raise NotImplementedError(?:\(\s*\))?\s*$|panic\("(?:not implemented|todo|TODO|unimplemented)|\bunimplemented!\(|\btodo!\(|`+
	`throw new Error\(['"](?:[Nn]ot implemented|TODO)|\b(?:TODO|FIXME|XXX|HACK)\b|for now\b.*(?:stub|hard-?code|fake)|\b(?:stub|placeholder|dummy) (?:value|implementation|result)`))

// debugging finds traces of debugging.
var debugging = added(plainCode, texts.Pattern(`^\s*(?:breakpoint\(\)|import i?pdb|i?pdb\.set_trace\(\)|debugger;?)\s*$|\bconsole\.(?:log|debug)\(|`+
	`^\s*print\(\s*f?["'](?:DEBUG|debug|here|>>>|---|\*\*\*)|\bdbg!\(|\bspew\.Dump\(|fmt\.Print(?:ln|f)\("(?:DEBUG|debug|here|>>>)`))
