package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// A deny or ask rule for the shell counts what cannot be told as a match: a
// command whose program is not literal, and one whose words are not that the
// literal part of the rule is about. Options before the words of the rule are
// passed over: git -C dir push is git push.

// pattern is a Bash specifier as a deny or ask rule reads it.
type pattern struct {
	spec    string
	literal []string // its words before the first that holds *
	rest    string   // what follows them; "*": anything or nothing
}

// patternOf reads a specifier.
func patternOf(spec string) pattern {
	spec = strings.Join(strings.Fields(spec), " ")
	if bare, ok := strings.CutSuffix(spec, ":*"); ok {
		spec = bare + " *"
	}
	p := pattern{spec: spec}
	words := strings.Fields(spec)
	for i, word := range words {
		if strings.Contains(word, "*") {
			p.rest = strings.Join(words[i:], " ")
			break
		}
		p.literal = append(p.literal, word)
	}
	return p
}

// catchesIn reports whether a line holds, or may hold, what r forbids.
func (r Rule) catchesIn(line *shellLine) bool {
	p := patternOf(r.Spec)
	if line.doubtful || strings.TrimSpace(line.text) == strings.TrimSpace(r.Spec) {
		return true
	}
	if slices.ContainsFunc(line.all(), p.catches) || slices.ContainsFunc(line.started, p.catches) {
		return true
	}
	said := p.mentions()
	return said != nil && (slices.ContainsFunc(line.code, said.MatchString) ||
		line.computes && said.MatchString(line.text))
}

// catches reports whether a command, or one that it may start, is meant.
func (p pattern) catches(c command) bool {
	if len(c.words) == 0 {
		return false
	}
	if p.meets(c.words, c.guessed) {
		return true
	}
	name := c.program()
	if takesData(name) && (name != "git" || !gitRuns(c)) || name == "command" && lists(c) {
		return false
	}
	_, known := wrapperOf(name)
	for i, w := range c.words[1:] {
		// A program that nobody knows may be a wrapper or not: what it is given counts
		// if it is plainly meant.
		if w.static && !strings.HasPrefix(w.value, "-") && p.meets(c.words[i+1:], true) {
			return true
		}
		if !w.static && !known && anyWrapper(name) && name != "find" && !c.guessed {
			return true
		}
	}
	return false
}

// meets reports whether words are, or unless it must be plain may be, a command
// that p is about.
func (p pattern) meets(words []word, plain bool) bool {
	name, known := words[0].program()
	if !known {
		return !plain
	}
	m := meeting{pattern: p, program: name, words: words, plain: plain, seen: map[[2]int]bool{}}
	if len(p.literal) > 0 {
		return (p.literal[0] == words[0].value || p.literal[0] == name) && m.from(1, 1)
	}
	return m.rest(0) || name != words[0].value && mayFit(p.rest,
		textOfWords(append([]word{{value: name}}, words[1:]...)))
}

// program is the name of the program that a word starts, without its folder.
// known is false if it is not literal.
func (w word) program() (name string, known bool) {
	if !w.static && !isFile(w) {
		return "", false
	}
	return path.Base(w.value), true
}

// meeting holds a command's words against a pattern's.
type meeting struct {
	pattern
	program string
	words   []word
	plain   bool // what is unknown in a word is nothing that p is about
	seen    map[[2]int]bool
}

// from reports whether the words from at on may be the literal words from lit on,
// and the rest behind them.
func (m *meeting) from(lit, at int) bool {
	if m.seen[[2]int{lit, at}] {
		return false
	}
	m.seen[[2]int{lit, at}] = true
	if lit == len(m.literal) && m.rest(at) {
		return true
	}
	if at >= len(m.words) {
		return false
	}
	w := m.words[at]
	if m.plain && !w.static {
		return false
	}
	if lit < len(m.literal) {
		if w.splits && m.mayBecome(w, m.literal[lit]) {
			return true
		}
		if mayFit(m.literal[lit], w.value) && m.from(lit+1, at+1) {
			return true
		}
	} else if prefix, _, _ := strings.Cut(m.pattern.rest, "*"); prefix == "" {
		return false // the rest may be anything, and was not met
	} else if w.splits && m.mayBecome(w, prefix) {
		return true
	}
	if !w.mayBeOption() {
		return false
	}
	alone, pair := valueOfOption(m.program, w)
	return alone && m.from(lit, at+1) || pair && at+1 < len(m.words) &&
		(m.words[at+1].splits && !m.plain || m.from(lit, at+2))
}

// mayBecome reports whether an expansion may bring a text, perhaps behind
// options.
func (m *meeting) mayBecome(w word, text string) bool {
	prefix, _, _ := strings.Cut(w.value, string(unknown))
	return strings.HasPrefix(text, prefix) || strings.HasPrefix(prefix, "-")
}

// rest reports whether the words from at on may be what follows the literal words.
func (m *meeting) rest(at int) bool {
	rest := m.pattern.rest
	if rest == "*" {
		return true
	}
	if m.plain && at < len(m.words) && !m.words[at].static {
		return false
	}
	if rest == "" {
		return !slices.ContainsFunc(m.words[at:], func(w word) bool { return !w.splits })
	}
	if at < len(m.words) && m.words[at].static {
		// Most commands differ in their first word already.
		prefix, _, _ := strings.Cut(rest, "*")
		word := m.words[at].value
		if n := min(len(prefix), len(word)); prefix[:n] != word[:n] {
			return false
		}
	}
	return mayFit(rest, textOfWords(m.words[at:]))
}

// mayBeOption reports whether a word may be an option.
func (w word) mayBeOption() bool {
	return len(w.value) > 1 && w.value[0] == '-' || strings.HasPrefix(w.value, string(unknown))
}

// valueOfOption says whether an option may stand alone, and whether the word
// behind it may be its value. Both are so where that is not known.
func valueOfOption(program string, option word) (alone, pair bool) {
	if !option.static {
		return true, true
	}
	if option.value == "--" || strings.HasPrefix(option.value, "--") && strings.Contains(option.value, "=") {
		return true, false
	}
	if program == "git" {
		switch option.value {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env",
			"--attr-source":
			return false, true
		case "-p", "--paginate", "-P", "--no-pager", "--bare", "--no-replace-objects", "--no-lazy-fetch",
			"--no-optional-locks", "--no-advice", "--literal-pathspecs", "--glob-pathspecs",
			"--noglob-pathspecs", "--icase-pathspecs", "-v", "--version", "-h", "--help":
			return true, false
		}
	}
	return true, true
}

// textOfWords is words as the shell will see them, single blanks between them.
func textOfWords(words []word) string { return command{words: words}.text() }

// mentions is what code must hold to start what p is about: its program and its
// further literal words, in this order. nil: p has none.
func (p pattern) mentions() *regexp.Regexp {
	end := `($|[^\w-])`
	words := slices.Clone(p.literal)
	if prefix, _, _ := strings.Cut(p.rest, "*"); prefix != "" {
		words, end = append(words, strings.Fields(prefix)...), ""
	}
	if len(words) == 0 {
		return nil
	}
	for i, word := range words {
		words[i] = regexp.QuoteMeta(path.Base(word))
	}
	return regexp.MustCompile(`(?s)(^|[^\w-])` + strings.Join(words, `[^\w-].*?`) + end)
}
