package hints

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Rules about what runs checks, and about dependencies.

func baseOf(f *FileDiff) string { return path.Base(f.Name) }

// configured are the files that tell a program of a gate what to check. The lines that do are found
// by lines; nil: all do.
var configured = func() map[string][]string {
	node := []string{"jest.config.*", "vitest.config.*", ".eslintrc*", "eslint.config.*", ".mocharc*", "tsconfig*.json", "package.json"}
	python := []string{"pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "conftest.py", "noxfile.py", "ruff.toml", "mypy.ini", ".coveragerc"}
	build := []string{"Makefile", "makefile", "GNUmakefile", "*.mk"}
	rust := []string{"Cargo.toml", "clippy.toml", "rustfmt.toml"}
	files := map[string][]string{
		"make": build, "gmake": build, "just": {"justfile", "Justfile", ".justfile"}, "cargo": rust,
		"golangci-lint": {".golangci.*"}, "lefthook": {"lefthook.y*ml"}, "pre-commit": {".pre-commit-config.yaml"},
		"gradle": {"build.gradle*"}, "gradlew": {"build.gradle*"}, "mvn": {"pom.xml"}, "rake": {"Rakefile"},
		"rspec": {".rspec"}, "task": {"Taskfile.y*ml"},
	}
	for _, program := range []string{"npm", "npx", "pnpm", "yarn", "bun", "node", "jest", "vitest", "eslint", "tsc", "mocha"} {
		files[program] = node
	}
	for _, program := range []string{"pytest", "tox", "nox", "ruff", "mypy", "python", "python3", "uv"} {
		files[program] = python
	}
	return files
}()

// checkKeys find, in files that hold much besides, the lines that say what is checked and how.
var checkKeys = map[string]func() *regexp.Regexp{
	"package.json":   texts.Pattern(`^\s*"(?:pre|post)?(?:test|lint|check|build|typecheck|ci|verify|unit|coverage)[\w:.-]*"\s*:|"(?:testMatch|testPathIgnorePatterns|coverageThreshold|collectCoverageFrom|bail)"`),
	"pyproject.toml": texts.Pattern(`^\s*(?:addopts|testpaths|python_files|python_functions|ignore|extend-ignore|select|exclude|exclude_also|exclude_lines|omit|fail_under|strict|disallow_\w+|filterwarnings|xfail_strict|norecursedirs|collect_ignore|per-file-ignores)\s*=|^\[tool\.(?:pytest|ruff|mypy|coverage)`),
	"setup.cfg":      texts.Pattern(`^\s*(?:addopts|testpaths|python_files|ignore|select|exclude|omit|fail_under|strict|filterwarnings|norecursedirs)\s*=`),
	"tox.ini":        texts.Pattern(`^\s*(?:commands|addopts|testpaths|ignore|exclude|ignore_errors|allowlist_externals)\b|^\s+(?:pytest|python|coverage|ruff|mypy)\b`),
	"Cargo.toml":     texts.Pattern(`^\s*\[lints|^\s*(?:test|autotests|doctest|harness)\s*=|=\s*"allow"`),
	"tsconfig.json":  texts.Pattern(`"(?:strict\w*|no\w+|skipLibCheck|exclude|include|checkJs)"\s*:`),
	"conftest.py":    texts.Pattern(`\bdef pytest_|collect_ignore|hookimpl`),
}

// judged finds changes of what decides about the work: the files that gates name, and what their
// commands run, one step further: the targets of a Makefile, the scripts of a package.json.
func judged(w Work) []Place {
	list := files(func(w Work, f *FileDiff) bool {
		return w.Judges.Include(f.Name) || f.What == Renamed && w.Judges.Include(f.Old)
	})(w)
	for i := range w.Files {
		f := &w.Files[i]
		if w.Judges.Include(f.Name) || !w.configures(f) {
			continue
		}
		if fitsOne(baseOf(f), "Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile") {
			list = append(list, w.changedTargets(f)...)
		} else if keys, known := checkKeys[baseOf(f)]; known && f.What == Changed {
			list = append(list, w.changedKeys(f, keys)...)
		} else if f.What != Created {
			list = append(list, Place{File: f.Name})
		}
	}
	return list
}

// configures reports whether a file tells a program of a gate what to check.
func (w Work) configures(f *FileDiff) bool {
	return slices.ContainsFunc(w.Judges.Programs, func(p string) bool { return fitsOne(baseOf(f), configured[p]...) })
}

// changedKeys returns the changed lines that an expression finds, and in a package.json the scripts that gates run. If these
// are known, its other scripts do not count.
func (w Work) changedKeys(f *FileDiff, keys func() *regexp.Regexp) []Place {
	var list []Place
	for s := range w.changed(func(g *FileDiff) bool { return g == f }) {
		holds := keys().MatchString(s.text()) || leftOut().MatchString(s.around()[0])
		if found := script().FindStringSubmatch(s.text()); baseOf(f) == "package.json" && found != nil && len(w.Judges.Targets) > 0 {
			holds = slices.Contains(w.Judges.Targets, found[1])
		}
		if holds {
			list = append(list, s.place())
		}
	}
	return list
}

// leftOut begins a list of what a check does not look at.
var leftOut = texts.Pattern(`^\s*(?:exclude_also|exclude_lines|omit|norecursedirs|collect_ignore)\s*=\s*\[?\s*$`)

// script begins the line of a script in a package.json.
var script = texts.Pattern(`^\s*"([\w:.-]+)"\s*:\s*"`)

// target begins a rule of a Makefile.
var target = texts.Pattern(`^([\w./%-]+(?:\s+[\w./%-]+)*)\s*:(?:[^=]|$)`)

// changedTargets returns the changed commands of targets that a gate names. The target of a command
// is the last one above it, or what git prints after the numbers of a hunk.
func (w Work) changedTargets(f *FileDiff) []Place {
	var list []Place
	for j := range f.Hunks {
		h := &f.Hunks[j]
		of := targetOf(h.Section)
		for k, l := range h.Lines {
			if t := targetOf(l.Text); t != "" {
				of = t
			}
			if l.Kind != '+' && l.Kind != '-' {
				continue
			}
			if w.judgedBy(of) {
				list = append(list, spot{f, h, k}.place())
			}
		}
	}
	return list
}

// judgedBy reports whether a gate runs one of some targets.
func (w Work) judgedBy(targets string) bool {
	words := w.Judges.Targets
	if len(words) == 0 { // any word of a gate may name one
		words = w.Judges.Programs
		if !slices.ContainsFunc(words, func(p string) bool { return target().MatchString(p+":") && isTargetWord(p) }) {
			return targets != ""
		}
	}
	return slices.ContainsFunc(strings.Fields(targets), func(t string) bool { return slices.Contains(words, t) })
}

// isTargetWord reports whether a word of a gate's command can name a target: it is no program that
// has files of its own.
func isTargetWord(word string) bool { return configured[word] == nil }

func targetOf(line string) string {
	if found := target().FindStringSubmatch(line); found != nil {
		return found[1]
	}
	return ""
}

// limits finds limits that a check holds.
var limits = texts.Pattern(`(?i)fail[_-]under|coverageThreshold|\bthreshold|\bminimum\b|min[_-]?coverage|check-coverage|"(?:branches|functions|lines|statements)"\s*:|` +
	`\b(?:branches|functions|lines|statements):\s*\d`)

// lowered finds limits that are lowered.
func lowered(w Work) []Place {
	var list []Place
	for p := range w.pairs(anyFile, func(text string) bool { return limits().MatchString(text) }) {
		old, now := p.old.text(), p.now.text()
		if blank(number, old) != blank(number, now) {
			continue
		}
		before, after := number().FindAllString(old, -1), number().FindAllString(now, -1)
		for i := range before {
			if compareNumbers(before[i], after[i]) > 0 {
				list = append(list, p.now.place())
				break
			}
		}
	}
	return list
}

func ciFile(f *FileDiff) bool { return isCI(f.Name) }

// ciWeakened finds rights that CI gets, and what keeps it from failing.
func ciWeakened(w Work) []Place {
	list := lessStrict(w)
	for i := range w.Files {
		if f := &w.Files[i]; f.What == Deleted && isCI(f.Name) {
			list = append(list, Place{File: f.Name})
		}
	}
	return list
}

var lessStrict = added(ciFile, texts.Pattern(`\bpull_request_target\b|permissions:\s*write-all|^\s*(?:contents|actions|packages|id-token|deployments|checks|statuses|pull-requests|issues|security-events):\s*write\b|`+
	`\buses:\s*\S+@(?:main|master|latest|HEAD|dev|develop)\b|\bif:\s*(?:false|\$\{\{\s*false)|continue-on-error:\s*true|\ballow_failure:\s*true|`+
	`\$\{\{\s*(?:toJson\(secrets\)|github\.event\.(?:issue|pull_request|comment|head_commit)\.(?:title|body|message))|\bfail-fast:\s*false\s*#\s*ignore`))

// ciChanged finds files of CI that change.
func ciChanged(w Work) []Place {
	return files(func(_ Work, f *FileDiff) bool { return isCI(f.Name) })(w)
}

// isLock reports whether a file records where dependencies come from.
func isLock(f *FileDiff) bool {
	return fitsOne(baseOf(f), "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "poetry.lock", "uv.lock",
		"Pipfile.lock", "pdm.lock", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock", "requirements*.txt", ".npmrc", "pip.conf", "go.mod", "Cargo.toml", "package.json", "pyproject.toml",
		"nuget.config", "NuGet.config", "NuGet.Config", "pom.xml", "settings.gradle*", "build.gradle*", "Gemfile", "Directory.Packages.props")
}

var (
	host      = texts.Pattern(`(?:https?|git|ssh|git\+https|git\+ssh)://(?:[^/@\s"']*@)?([\w.-]+)`)
	fromThere = texts.Pattern(`(?i)"?\b(?:resolved|tarball|url|source|registry|index-url|extra-index-url|git|dependency_links)"?\s*[:=@]?\s|^\s*(?:replace\s|<add\s|<url>|maven\s*\{|-e\s|--(?:extra-)?index-url|\S+\s*@\s*(?:git\+)?https?)|=>|` +
		`"(?:git\+|github:|https?:)`)
	about   = texts.Pattern(`(?i)^\s*"?(?:homepage|repository|documentation|changelog|issues|bugs|funding|license|url|donate|source|tracker|author|"?type)"?\s*[:=]`)
	release = texts.Pattern(`(?i)^\s*"?(?:version|resolution|resolved)"?\s*[:=]?\s`)
	sum     = texts.Pattern(`(?i)^\s*"?(?:integrity|checksum|sha256|hash(?:es)?)"?\s*[:=]?\s*`)
)

// gitSource finds a dependency that comes from a repository and not from a registry, named its name.
var (
	gitSource = texts.Pattern(`\bgit\s*=\s*"|git\+(?:https?|ssh)|"(?:github|gitlab|bitbucket):`)
	named     = texts.Pattern(`^\s*"?([\w@/.-]+)"?\s*(?:=|:|@\s)`)
)

// publicHost finds hosts of those from where packages usually come.
var publicHost = texts.Pattern(`(?:^|\.)(?:npmjs|yarnpkg|pypi|pythonhosted|crates|rubygems|packagist|golang|github)\.(?:org|io|com)$`)

// lockSource finds dependencies with another source, and checksums that are gone.
func lockSource(w Work) []Place {
	known := map[string]bool{}
	for _, kind := range []byte{' ', '-'} {
		for s := range w.lines(kind, isLock) {
			for _, found := range host().FindAllStringSubmatch(s.text(), -1) {
				known[found[1]] = true
			}
		}
	}
	var list []Place
	added, removed := map[*FileDiff]int{}, map[*FileDiff]int{}
	for s := range w.fresh(isLock) {
		text := s.text()
		if sum().MatchString(text) {
			added[s.file]++
		}
		manifest := fitsOne(baseOf(s.file), "package.json", "pyproject.toml", "Cargo.toml", "pom.xml")
		for _, found := range host().FindAllStringSubmatch(text, -1) {
			if !known[found[1]] && !publicHost().MatchString(found[1]) && fromThere().MatchString(text) && !(manifest && about().MatchString(text)) {
				list = append(list, s.place())
				break
			}
		}
		if strings.HasPrefix(strings.TrimSpace(text), "replace ") && baseOf(s.file) == "go.mod" {
			list = append(list, s.place())
		}
	}
	for p := range w.pairs(isLock, func(text string) bool { return gitSource().MatchString(text) || named().MatchString(text) }) {
		old, now := named().FindStringSubmatch(p.old.text()), named().FindStringSubmatch(p.now.text())
		if gitSource().MatchString(p.now.text()) && !gitSource().MatchString(p.old.text()) && old != nil && now != nil && old[1] == now[1] {
			list = append(list, p.now.place())
		}
	}
	var first spot
	for s := range w.gone(isLock) {
		if sum().MatchString(s.text()) {
			removed[s.file]++
			first = s
		} else if release().MatchString(s.text()) {
			removed[s.file]-- // its package goes, or has another version
		}
	}
	for f, n := range removed {
		if n > 0 && added[f] == 0 && f.What == Changed {
			list = append(list, first.place())
		}
	}
	return list
}

// versioned finds the number of a release.
var versioned = texts.Pattern(`\d+(?:\.\d+)+`)

// olderVersions finds dependencies whose version becomes lower.
func olderVersions(w Work) []Place {
	before := map[string]string{}
	of := func(s spot) (key, version string) {
		version = versioned().FindString(s.text())
		return s.file.Name + " " + blank(versioned, s.text()), version
	}
	for s := range w.gone(isLock) {
		if key, version := of(s); version != "" && !release().MatchString(s.text()) {
			before[key] = version
		}
	}
	var list []Place
	for s := range w.fresh(isLock) {
		if key, version := of(s); before[key] != "" && !release().MatchString(s.text()) && older(version, before[key]) {
			list = append(list, s.about(strings.TrimSpace(s.text())+" (was "+before[key]+")"))
		}
	}
	return list
}

// older reports whether a version is lower than another one.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		if order := compareNumbers(x[i], y[i]); order != 0 {
			return order < 0
		}
	}
	return len(x) < len(y)
}

// manifests find the name of a dependency in a line.
var manifests = map[string]func() *regexp.Regexp{
	"package.json":   texts.Pattern(`^\s*"(@?[\w./-]+)"\s*:\s*"(?:[\^~>=<*]|\d|workspace:|npm:|git|http|latest)`),
	"go.mod":         texts.Pattern(`^\s*(?:require\s+)?([\w./~-]+\.[\w./~-]+)\s+v\d`),
	"Cargo.toml":     texts.Pattern(`^\s*([\w-]+)\s*=\s*(?:"[\d^~=*]|\{.*(?:version|path|git)\s*=)`),
	"pyproject.toml": texts.Pattern(`^\s*"([A-Za-z][\w.\[\]-]*)\s*(?:[<>=~!;]|")|^\s*([\w-]+)\s*=\s*(?:"[\^~>=<]|\{\s*version)`),
	"Gemfile":        texts.Pattern(`^\s*gem ['"]([\w-]+)`),
	"pom.xml":        texts.Pattern(`<artifactId>([\w.-]+)<`),
}

// requirement is the like for requirements.txt.
var requirement = texts.Pattern(`^([A-Za-z][\w.\[\]-]*)\s*(?:[<>=~!;@]|$)`)

// dependencies finds dependencies that are added.
func dependencies(w Work) []Place {
	var list []Place
	names := func(s spot) string {
		expr, known := manifests[baseOf(s.file)]
		if !known && fitsOne(baseOf(s.file), "requirements*.txt", "requirements*.in") {
			expr, known = requirement, true
		}
		if !known {
			return ""
		}
		return strings.Join(append(expr().FindStringSubmatch(s.text()), "", "", "")[1:3], "")
	}
	before := map[string]bool{}
	for _, kind := range []byte{'-', ' '} {
		for s := range w.lines(kind, anyFile) {
			before[names(s)] = true
		}
	}
	for s := range w.fresh(anyFile) {
		if name := names(s); name != "" && !before[name] && name != "version" && name != "node" {
			list = append(list, s.about(name))
		}
	}
	return list
}

// hidden matches what a file of ignored names must not hide without a look.
var hidden = texts.Pattern(`^/?(?:\*\*/)?(?:\*\.(?:go|py|js|ts|tsx|jsx|rs|java|rb|php|c|cc|cpp|h|cs|sh|sql|ya?ml|md|golden|snap|json|toml|lock|expected|proto|txt)|(?:\S*/)?(?:migrations|fixtures|testdata|snapshots|__snapshots__|golden|approved|expected)/?.*|(?:\S*/)?(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|uv\.lock|poetry\.lock|Cargo\.lock|go\.sum|Gemfile\.lock)|\*\w*_(?:test|spec)\.\w+|test_\*(?:\.py)?|\*\.(?:test|spec)\.\w+|` +
	`tests?/?|spec/?|__tests__/?|src/?|lib/?|\.github/?.*|\*|\*\*/\*)\s*$`)

// ignores matches a pattern of names that git ignores.
var ignores = texts.Pattern(`^\s*[^#!\s]`)

// hidesFiles finds what hides files from git that people write.
func hidesFiles(w Work) []Place {
	list := added(func(f *FileDiff) bool { return baseOf(f) == ".gitignore" }, hidden)(w)
	return append(list, added(func(f *FileDiff) bool { return baseOf(f) == ".gitattributes" }, hidesChanges)(w)...)
}

// hidesChanges finds attributes by which git shows changes of a file no more, or as something else.
var hidesChanges = texts.Pattern(`^[^#].*\s(?:-diff|binary|-text|linguist-generated(?:=true)?|linguist-vendored(?:=true)?|diff=\w+|filter=\w+|merge=\w+|working-tree-encoding=\S+)(?:\s|$)`)
