package hints

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Rules about files as such, and secrets.

// deletedFiles finds files that are deleted, besides tests, which have a rule of their own.
func deletedFiles(w Work) []Place {
	return files(func(_ Work, f *FileDiff) bool { return f.What == Deleted && !IsTest(f.Name) })(w)
}

// programEndings are the endings of files that run or are loaded, and that nobody can read.
var programEndings = []string{"*.exe", "*.dll", "*.so", "*.so.*", "*.dylib", "*.jar", "*.class", "*.pyc", "*.o", "*.a", "*.wasm", "*.node", "*.msi", "*.bin", "*.apk"}

func isProgram(f *FileDiff) bool {
	return f.What != Deleted && f.Binary && (fitsOne(baseOf(f), programEndings...) || strings.HasSuffix(f.Modes, "755") || !strings.Contains(baseOf(f), "."))
}

func programs(w Work) []Place {
	return files(func(_ Work, f *FileDiff) bool { return isProgram(f) })(w)
}

func binaries(w Work) []Place {
	return files(func(_ Work, f *FileDiff) bool { return f.Binary && f.What != Deleted && !isProgram(f) })(w)
}

// litter finds new files that look as if nobody meant to add them.
func litter(w Work) []Place {
	return files(func(_ Work, f *FileDiff) bool {
		if f.What != Created && f.What != Copied {
			return false
		}
		for folder := range strings.SplitSeq(path.Dir(f.Name), "/") {
			if fitsOne(folder, "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", "*.egg-info", "htmlcov", ".tox", ".venv", "venv", ".idea", "coverage") {
				return true
			}
		}
		return fitsOne(baseOf(f), "*.orig", "*.rej", "*.bak", "*.swp", "*.swo", "*~", ".DS_Store", "Thumbs.db", "nohup.out", "*.log", "core", "*.pyc", ".coverage",
			"*.tmp", "npm-debug.log*", "coverage.out", "a.out", "*.prof", "test_output*", "output.txt", "scratch*", "tmp_*", "debug_*.py", "* copy.*")
	})(w)
}

// unnamed finds the changed files that the task does not name, if it names others: by a path, a
// folder, or a name without its ending. The test of a named file is named with it. byPath chooses tasks
// that name a changed file with its ending and probably mean just that; tests, documents and lists of
// dependencies may change with it.
func unnamed(byPath bool) func(Work) []Place {
	return func(w Work) []Place {
		words := map[string]bool{}
		for _, word := range strings.FieldsFunc(strings.ToLower(w.Task), func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-./", r) && r < 0x80
		}) {
			word = strings.Trim(word, "./-")
			words[word], words[stem(path.Base(word))] = true, true
		}
		exact := false
		for i := range w.Files {
			name := strings.ToLower(w.Files[i].Name)
			exact = exact || path.Ext(name) != "" && (words[name] || words[path.Base(name)])
		}
		if exact != byPath {
			return nil
		}
		list := files(func(_ Work, f *FileDiff) bool { return !isNamed(words, strings.ToLower(f.Name)) })(w)
		if len(list) == len(w.Files) {
			return nil // it names no file, so nothing can be compared
		}
		if byPath {
			list = slices.DeleteFunc(list, func(p Place) bool {
				f := &FileDiff{Name: p.File}
				return IsTest(p.File) || isLock(f) || isExample(p.File) || fitsOne(baseOf(f), "*.md", "*.rst")
			})
		}
		return list
	}
}

// isNamed reports whether the words of a task name a file.
func isNamed(words map[string]bool, name string) bool {
	base := path.Base(name)
	if words[name] || words[base] || words[stem(base)] {
		return true
	}
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if words[dir] || len(path.Base(dir)) > 2 && words[path.Base(dir)] {
			return true
		}
	}
	return false
}

var (
	// keyShapes are the forms of keys that their issuers have published.
	keyShapes = texts.Pattern(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b|\bgithub_pat_\w{60,}|\bglpat-[\w-]{20}|\bxox[abprs]-[\w-]{10,}|` +
		`\bAIza[\w-]{35}\b|\bsk-(?:ant-|proj-)?[\w-]{32,}|\bsk_live_\w{20,}|\brk_live_\w{20,}|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[\w-]{50,}|\bSG\.[\w-]{20,}\.[\w-]{20,}|` +
		`-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}|\bhf_[A-Za-z0-9]{34}\b|\bdop_v1_[a-f0-9]{64}|` +
		`\bhooks\.slack\.com/services/T\w+/B\w+/\w{20,}|\bSK[0-9a-f]{32}\b|\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b|\bdapi[0-9a-f]{32}\b|\bglsa_\w{32}_[0-9a-fA-F]{8}\b|` +
		`\bhvs\.[\w-]{60,}|\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b|\bAccountKey=[\w+/]{80,}|\b\d{8,10}:AA[\w-]{33}\b|\bkey-[0-9a-f]{32}\b|\bBearer [\w-]{40,}|` +
		`\b(?:https?|ftp)://[^\s:@/"']+:(?:[\w+=-]{16,}|[\w+=-]*%[\w+=%.~-]{6,})@[\w.-]+|"auth"\s*:\s*"[\w+/]{30,}={0,2}"|` +
		`\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|amqp)://[^\s:@/"']+:[^\s:@/"'${}<>]{4,}@[\w.-]+`)
	// assigned finds a value that is given to something with the name of a secret.
	assigned = texts.Pattern(`(?i)\b\w*(?:passw(?:or)?d|secret|token|api_?key|access_?key|private_?key|credential)\w*["']?\s*(?::|=|:=|=>)\s*["']([^"'\s]{12,})["']`)
	// setting finds such a value in a file of settings, where it needs no quotes.
	setting = texts.Pattern(`(?i)^\s*(?:export\s+|-\s+|ENV\s+)?[\w.-]*(?:passw(?:or)?d|secret|token|api_?key|access_?key|private_?key|credential)\w*\s*[:=]\s*([\w+/=-]{20,})\s*$`)
	// madeUp finds values that stand for one.
	madeUp = texts.Pattern(`(?i)example|sample|dummy|fake|test|changeme|placeholder|your|xxx|\$\{|\{\{|<|%\(|env|1234|abcd|localhost|user:pass|\*\*\*|\.\.\.`)
)

// secrets finds what looks like a key or a password. The places do not repeat it.
func secrets(w Work) []Place {
	var list []Place
	for s := range w.fresh(func(f *FileDiff) bool {
		return !isExample(f.Name) && !fitsOne(baseOf(f), "*.lock", "*-lock.*", "go.sum")
	}) {
		text := s.text()
		if key := keyShapes().FindString(text); key != "" && !madeUp().MatchString(key) {
			list = append(list, s.about("the form of a key"))
		} else if found := assigned().FindStringSubmatch(text); found != nil && !IsTest(s.file.Name) && !madeUp().MatchString(text) && randomness(found[1]) > 3.3 {
			list = append(list, s.about("a value that looks random"))
		} else if found := setting().FindStringSubmatch(text); found != nil && !IsTest(s.file.Name) && !madeUp().MatchString(text) && mixed(found[1]) && randomness(found[1]) > 3.7 {
			list = append(list, s.about("a value that looks random"))
		}
	}
	return list
}

// mixed reports whether a text has digits, and letters of both cases or hexadecimal ones alone.
func mixed(text string) bool {
	upper, lower := strings.ToLower(text) != text, strings.ToUpper(text) != text
	return number().MatchString(text) && (upper && lower || strings.Trim(text, "0123456789abcdef") == "" && len(text) >= 32)
}

// randomness returns the entropy of a text in bits for each byte.
func randomness(text string) (bits float64) {
	counts := map[byte]float64{}
	for i := range len(text) {
		counts[text[i]]++
	}
	for _, n := range counts {
		p := n / float64(len(text))
		bits -= p * math.Log2(p)
	}
	return bits
}
