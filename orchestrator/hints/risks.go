package hints

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Rules about what code does less carefully than before, or in a way that is often a hole.

// refusal finds a line by which code refuses or fails, careful a call that may, or that keeps order.
var (
	refusal = texts.Pattern(`^\s*(?:\}\s*)?(?:raise\b|throw\b|abort\(|assert\b|panic\()|\breturn\b.*(?:\b(?:err|error|Err)\b|[eE]rror\w*\(|\.Err\(\)|\bErr[A-Z]\w*)|\bErr\(|\bok_or\w*\(|\bchecked_\w+\(|\b(?:bail|ensure|assert\w*)!\(`)
	careful = texts.Pattern(`(?i)\b(?:\w*(?:valid|verif|sanitiz|authori[sz]|authenticat|escape|permission|compare_digest|timingSafeEqual|ConstantTimeCompare)\w*|(?:require|ensure|check|assert|must)(?:_|[A-Z])?\w*|raise_for_status)\(|` +
		`\b(?:sort\.\w+|sorted|quantize|round|slices\.Sort\w*)\(|\.(?:sort|[rR]?[lL]ock|acquire|close|flush|sync)\(|\b(?:os\.(?:replace|rename|Rename)|renameSync)\(|^\s*(?:async )?with\s+[\w.]*(?:lock|mutex|semaphore)\w*\b|\bsynchronized\b|@transaction|\btransaction\b`)
	// failing finds a line of a test that expects a failure.
	failing = texts.Pattern(`[rR]aises|toThrow|\.rejects\b|should_panic|is_err\(|unwrap_err|\bErr\(|wantErr|err == nil|errors\.(?:Is|As)\(|ErrorIs|ErrorContains|\bexcept\b|assert False|assert\.throws|expectError`)
)

// fewerChecks finds files in which code refuses or fails in fewer places than before. unexpected chooses work whose tests expect
// fewer refusals, too: then they can find none that is gone.
func fewerChecks(unexpected bool) func(Work) []Place {
	return func(w Work) []Place {
		expected := 0
		for s := range w.gone(testFile) {
			expected += count(failing().MatchString(s.text()))
		}
		for s := range w.fresh(testFile) {
			expected -= count(failing().MatchString(s.text()))
		}
		kept := func(f *FileDiff) bool { return plainCode(f) && f.What != Deleted }
		var list []Place
		refuses := fewerLines(w, kept, refusal)
		if (expected > 0 && refuses != nil) != unexpected {
			return nil
		}
		if list = refuses; !unexpected {
			list = append(list, fewerLines(w, kept, careful)...)
			list = append(list, laterChecks(w)...)
		}
		return list
	}
}

// laterChecks finds checks that stand below what they stood above before.
func laterChecks(w Work) []Place {
	at := map[*Hunk]map[string]int{}
	var list []Place
	for s := range w.changed(plainCode) {
		text := strings.TrimSpace(s.text())
		if !isGuard(s.text()) && !decides().MatchString(s.text()) || text == "" {
			continue
		}
		if s.hunk.Lines[s.i].Kind == '-' {
			if at[s.hunk] == nil {
				at[s.hunk] = map[string]int{}
			}
			at[s.hunk][text] = s.i
		} else if from, ok := at[s.hunk][text]; ok && slices.ContainsFunc(s.hunk.Lines[from+1:s.i], func(l DiffLine) bool { return l.Kind == ' ' && len(strings.TrimSpace(l.Text)) > 1 }) {
			list = append(list, s.place())
		}
	}
	return list
}

func count(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// fewerLines returns the removed lines that an expression finds, of files that lose more of them than they get. Comments and the
// beginnings of functions do not count.
func fewerLines(w Work, fits func(*FileDiff) bool, expr func() *regexp.Regexp) []Place {
	holds := func(s spot) bool {
		return expr().MatchString(s.text()) && !comment().MatchString(s.text()) && !retired().MatchString(s.text())
	}
	lost, gone := map[*FileDiff]int{}, map[*FileDiff][]Place{}
	for s := range w.fresh(fits) {
		lost[s.file] -= count(holds(s))
	}
	for s := range w.gone(fits) {
		if holds(s) {
			lost[s.file]++
			gone[s.file] = append(gone[s.file], s.place())
		}
	}
	var list []Place
	for i := range w.Files {
		if f := &w.Files[i]; lost[f] > 0 {
			list = append(list, gone[f]...)
		}
	}
	return list
}

// isGuard reports whether a line refuses something, and is no comment.
func isGuard(text string) bool {
	return (refusal().MatchString(text) || careful().MatchString(text)) && !comment().MatchString(text)
}

// operators finds what decides in a condition.
var operators = texts.Pattern(`&&|\|\||[<>!=]=?=?|\b(?:and|or|not|any|all|some|every|is)\b|\b\d+\b`)

// given finds a number that gets a name.
var given = texts.Pattern(`^\s*(?:(?:pub|export|public|private|static|final|readonly|const|let|var|val)\s+)*["']?[\w.-]+["']?(?:\s*:\s*[\w<>]+|\s+\w+)?\s*(?::=|=|:)\s*-?\d[\w.]*(?:\s*\*\s*[\w.]+)*[;,]?\s*(?:(?:#|//).*)?$`)

// decides finds a line with a condition.
var decides = texts.Pattern(`^\s*(?:\}?\s*(?:else\s+)?(?:if|elif|while|for|unless)\b|return\b.*(?:&&|\|\||[<>]|==|!=|\band\b|\bor\b|\bnot\b))`)

// otherConditions finds conditions that differ from the ones in their place by operators and numbers alone.
func otherConditions(w Work) []Place {
	var list []Place
	for p := range w.pairs(plainCode, func(text string) bool { return decides().MatchString(text) }) {
		old, now := strings.TrimSpace(p.old.text()), strings.TrimSpace(p.now.text())
		bare := func(text string) string { return strings.Join(strings.Fields(blank(operators, text)), "") }
		if old != now && (strings.ReplaceAll(bare(old), "#", "") == strings.ReplaceAll(bare(now), "#", "") || isGuard(p.now.near(1))) {
			list = append(list, p.now.place())
		}
	}
	return append(list, otherNumbers(w)...)
}

// otherNumbers finds names that get another number than before, wherever they stand in their file.
func otherNumbers(w Work) []Place {
	fits := func(f *FileDiff) bool {
		return plainCode(f) || slices.Contains(textEndings, path.Ext(f.Name)) && !isLock(f) && !isCI(f.Name) && !IsTest(f.Name) && path.Ext(f.Name) != ".md"
	}
	of := func(s spot) string { return s.file.Name + " " + blank(number, s.text()) }
	before := map[string]bool{}
	for s := range w.gone(fits) {
		if given().MatchString(s.text()) {
			before[of(s)] = true
		}
	}
	var list []Place
	for s := range w.fresh(fits) {
		if before[of(s)] && given().MatchString(s.text()) && !bound().MatchString(s.text()) { // bounds have a rule of their own
			list = append(list, s.place())
		}
	}
	return list
}

// bound finds a limit of time, of attempts or of size; endless one that never ends.
var (
	bound   = texts.Pattern(`(?i)timeout|time_limit|deadline|retr(?:y|ies)|attempts?|\bmax|limit|\bttl\b|expir`)
	endless = texts.Pattern(`\b(?:Infinity|None|null|nil|MaxInt\w*|MAX|MAX_SAFE_INTEGER|math\.inf|inf)\b|float\(["']inf`)
	// again has a test tried again, or ended early.
	again = texts.Pattern(`\bretry:\s*\d|\bretries:\s*\d|@(?:pytest\.mark\.)?flaky\b|--reruns\b|jest\.retryTimes\(|\btimeout:\s*\d\b|@RepeatedIfExceptions|nick-fields/retry|--retries\b`)
)

// higherBounds finds limits that become higher or are gone, and tests that are tried until they succeed.
func higherBounds(w Work) []Place {
	list := added(func(f *FileDiff) bool { return testFile(f) || isScript(f) || w.configures(f) }, again)(w)
	for p := range w.pairs(plainCode, func(text string) bool { return bound().MatchString(text) }) {
		old, now := p.old.text(), p.now.text()
		if endless().MatchString(now) && !endless().MatchString(old) && number().MatchString(old) || largerNumbers(old, now) {
			list = append(list, p.now.place())
		}
	}
	return list
}

// largerNumbers reports whether a line differs from another one by larger numbers alone.
func largerNumbers(old, now string) bool {
	if blank(number, old) != blank(number, now) {
		return false
	}
	larger := false
	before, after := number().FindAllString(old, -1), number().FindAllString(now, -1)
	for i := range before {
		switch compareNumbers(before[i], after[i]) {
		case 1:
			return false
		case -1:
			larger = true
		}
	}
	return larger
}

// riskyCall finds calls that are holes when what they get comes from outside.
var riskyCall = func() []func() *regexp.Regexp {
	return []func() *regexp.Regexp{
		texts.Pattern(`(?:^|[^.\w])(?:eval|exec)\(\s*[^)\s]|\bnew Function\(|\bos\.system\(|\bos\.popen\(|shell\s*=\s*True|\bexecSync\(|child_process\.exec\(|exec\.Command\(\s*"(?:ba|z)?sh"|Command::new\(\s*"(?:ba|z)?sh"`),
		texts.Pattern(`\.(?:inner|outer)HTML\s*\+?=|dangerouslySetInnerHTML|document\.write\(|\bv-html\b|insertAdjacentHTML|mark_safe\(|template\.(?:HTML|JS)\(|\|\s*safe\b`),
		texts.Pattern(`\bpickle\.loads?\(|\byaml\.(?:unsafe_)?load\((?:[^,)]*\)|.*UnsafeLoader)|\bmarshal\.loads\(|\bunserialize\(|\bObjectInputStream\(`),
		texts.Pattern(`(?i)\b(?:md5|sha1)(?:\.new|\.Sum|\.New)?\(|createHash\(\s*['"](?:md5|sha1)|\bMD5\.|\bDES\b|MODE_ECB`),
		texts.Pattern(`\bunsafe\s*(?:\{|fn\b|impl\b)|\bunsafe\.Pointer\(|from_utf8_unchecked|get_unchecked|transmute(?:::<|\()`),
		texts.Pattern(`\b0o?(?:666|777)\b|os\.umask\(\s*0\s*\)|AllowAnyOrigin|Access-Control-Allow-Origin['"]?\s*[,:]\s*['"]\*|\b0\.0\.0\.0\b`),
		texts.Pattern(`(?:\bre\.|RegExp|[rR]egexp?\b|Pattern|=\s*/|\(/|Regex::).*[*+]\)[*+]`),
		texts.Pattern(`["'\x60]http://[\w-]+\.[\w.-]+`),
	}
}()

// logs finds a secret in what is logged, and message a text without values in it, which only names one.
var (
	logs    = texts.Pattern(`\b(?:log(?:ging|ger)?(?:\.\w+)?|console\.\w+|print\w*|fmt\.Print\w*|(?:print|info|debug|warn|error|trace)(?:ln)?!)\(.*(?i)(?:\bpassword\b|\bsecret\b|api_?key|\w*token\b|credential|private_?key|session_?id|cookie|authorization)`)
	message = texts.Pattern(`"[^"{$ ]* [^"{$]*"|'[^'{$ ]* [^'{$]*'`)
)

// query finds a statement of SQL, chance a number that can be guessed, and key what must not be.
var (
	query  = texts.Pattern(`(?:SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s.+\sSET|DELETE\s+FROM)\s`)
	filled = texts.Pattern(`(?:\bf["']{1,3}.*\{|\.format\(|["'\x60]\s*(?:\+|%)\s*\w|\$\{|Sprintf\()`)
	chance = texts.Pattern(`\brandom\.(?:random|randint|choices?|getrandbits|randrange)\(|Math\.random\(|\brand\.(?:Int|Intn|Read|Uint)\w*\(|mt_rand\(`)
	local  = texts.Pattern(`//(?:localhost|127\.|\[::1\]|example\.|[\w.-]*\.(?:test|local|example|invalid)\b|(?:www\.)?(?:w3|apache|json-schema|opensource|schemas?)\.)|xmlns|schema`)
)

// risky finds calls that are often holes.
func risky(w Work) []Place {
	var list []Place
	for s := range w.fresh(plainCode) {
		text := s.text()
		if comment().MatchString(text) || testsBegin(s) {
			continue
		}
		if logs().MatchString(blank(message, text)) || query().MatchString(text) && filled().MatchString(text) || chance().MatchString(text) && secretive().MatchString(text+s.near(-1)+s.near(-2)) ||
			slices.ContainsFunc(riskyCall, func(expr func() *regexp.Regexp) bool { return expr().MatchString(text) && !local().MatchString(text) }) {
			list = append(list, s.place())
		}
	}
	return list
}

var secretive = texts.Pattern(`(?i)token|secret|passw|session|nonce|salt|\bkey|code\b|otp`)

// testsBegin reports whether a line of Rust stands among tests, which are in the same file as the code.
func testsBegin(s spot) bool {
	return strings.Contains(s.hunk.Section, "mod tests") || strings.Contains(s.hunk.Section, "#[test]")
}

// otherBuiltIns finds what changes a part of the language, or of what all code uses, for all others.
var otherBuiltIns = added(func(f *FileDiff) bool { return isCode(f.Name) && !isExample(f.Name) }, texts.Pattern(
	`\b(?:Array|Object|String|Number|Function|Promise|Map|Set|RegExp|Date|JSON|Math)(?:\.prototype)?\.\w+\s*=[^=]|Object\.defineProperty\(\s*(?:globalThis|Object|Array|String|Function)\b|`+
		`^\s*(?:builtins|__builtins__)\.\w+\s*=[^=]|^\s*class \w+\((?:str|int|float|bool|dict|list|tuple|set|bytes|Decimal|Fraction)\):\s*$`))

// everything finds code that hands on all of its environment.
var everything = added(plainCode, texts.Pattern(`JSON\.stringify\(\s*process\.env\s*[,)]|(?:json|data|params|body)\s*=\s*(?:dict\()?os\.environ\b|json\.dumps\(\s*(?:dict\()?os\.environ|`+
	`(?:Marshal|Post\w*|Write\w*|Join)\(.*os\.Environ\(\)|std::env::vars\(\).*(?:post|send|write)`))

// unasked finds files that run without being called.
func unasked(w Work) []Place {
	list := files(func(_ Work, f *FileDiff) bool {
		if f.What != Created && f.What != Copied && f.What != Renamed {
			return false
		}
		return fitsOne(baseOf(f), "sitecustomize.py", "usercustomize.py", "*.pth", "build.rs", ".envrc", ".gdbinit", ".lldbinit", "postinst", "preinst") ||
			strings.HasPrefix(f.Name, ".husky/") || strings.HasPrefix(f.Name, ".githooks/") || fitsOne(f.Name, ".vscode/tasks.json", ".vscode/settings.json", ".idea/runConfigurations/*")
	})(w)
	return append(list, runsOnInstall(w)...)
}

var runsOnInstall = added(func(f *FileDiff) bool { return fitsOne(baseOf(f), "package.json", "setup.py", "composer.json") },
	texts.Pattern(`^\s*"(?:pre|post)?install"\s*:|^\s*"(?:prepare|prepublish|preprepare|postprepare)"\s*:|\bcmdclass\s*=|"post-(?:install|update)-cmd"`))
