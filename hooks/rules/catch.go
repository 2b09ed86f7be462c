package rules

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A deny or ask rule for the shell treats what cannot be decided as a match: a command
// whose program is not literal, and one whose unknown words may be the literal words of the
// rule. Options before the words of the rule are skipped: git -C dir push is git push.

// pattern is a Bash specifier as a deny or ask rule uses it.
type pattern struct {
	spec    string
	literal []string // the words before the first that contains *
	rest    string   // what follows them; "*" matches anything or nothing
}

// patternOf parses a specifier.
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

// catchesIn reports whether a line contains, or may contain, a command that r forbids, and which
// part of the line that is.
func (r Rule) catchesIn(line *shellLine) (part string, yes bool) {
	p := patternOf(r.Spec)
	for _, list := range [][]command{line.all(), line.started} {
		if i := slices.IndexFunc(list, p.catches); i >= 0 {
			return list[i].shown(), true
		}
	}
	switch {
	case line.doubtful:
		return line.doubt, true
	case strings.TrimSpace(line.text) == strings.TrimSpace(r.Spec):
		return line.text, true
	}
	mentioned := p.mentions()
	if mentioned == nil {
		return "", false
	}
	if i := slices.IndexFunc(line.code, mentioned.MatchString); i >= 0 {
		return line.code[i], true
	}
	if line.computes && mentioned.MatchString(line.text) {
		return line.text, true
	}
	return "", false
}

// shown returns the command for people: as it was written, if that is known.
func (c command) shown() string {
	return cmp.Or(c.source, strings.ReplaceAll(c.text(), string(unknown), "…"))
}

// catches reports whether a command matches p.
func (p pattern) catches(c command) bool { return len(c.words) > 0 && p.meets(c.words, c.guessed) }

// meets reports whether words match p. Unless plain is set, unknown words count as a match
// if they may be one.
func (p pattern) meets(words []word, plain bool) bool {
	name, known := words[0].program()
	if !known {
		return !plain
	}
	m := wordMatcher{pattern: p, program: name, words: words, plain: plain, seen: map[[2]int]bool{}}
	if len(p.literal) > 0 {
		return (p.literal[0] == words[0].value || p.literal[0] == name) && m.matchFrom(1, 1)
	}
	// Such a pattern has no place for its words, so that a word may be one of them is no match, unless
	// it begins like one.
	words = slices.Clone(words)
	for i, w := range words {
		begin, _, _ := strings.Cut(w.value, string(unknown))
		if !w.static && (len(begin) < 2 || !strings.Contains(p.rest, "*"+begin) && !strings.Contains(p.rest, " "+begin)) {
			words[i] = word{value: strings.ReplaceAll(w.value, string(unknown), hole), static: true}
		}
	}
	m.words = words
	return m.matchRest(0) || name != words[0].value && mayFit(p.rest,
		textOfWords(append([]word{{value: name}}, words[1:]...)))
}

// program returns the name of the program that a word starts, without its folder. known is
// false if the name is not literal.
func (w word) program() (name string, known bool) {
	if !w.static && !isFile(w) {
		return "", false
	}
	return path.Base(w.value), true
}

// wordMatcher matches a command's words against a pattern's.
type wordMatcher struct {
	pattern
	program string
	words   []word
	plain   bool // unknown text in a word matches nothing
	seen    map[[2]int]bool
}

// matchFrom reports whether the words from at on may be the literal words from lit on,
// followed by the rest.
func (m *wordMatcher) matchFrom(lit, at int) bool {
	if m.seen[[2]int{lit, at}] {
		return false
	}
	m.seen[[2]int{lit, at}] = true
	if lit == len(m.literal) && m.matchRest(at) {
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
		if mayFit(m.literal[lit], w.value) && m.matchFrom(lit+1, at+1) {
			return true
		}
	} else if prefix, _, _ := strings.Cut(m.pattern.rest, "*"); prefix == "" {
		return false // the rest may be anything, and did not match
	} else if w.splits && m.mayBecome(w, prefix) {
		return true
	}
	if !w.mayBeOption() {
		return false
	}
	alone, pair := valueOfOption(m.program, w)
	return alone && m.matchFrom(lit, at+1) || pair && at+1 < len(m.words) &&
		(m.words[at+1].splits && !m.plain || m.matchFrom(lit, at+2))
}

// mayBecome reports whether a word may expand to a text, perhaps after options.
func (m *wordMatcher) mayBecome(w word, text string) bool {
	prefix, _, _ := strings.Cut(w.value, string(unknown))
	return strings.HasPrefix(text, prefix) || strings.HasPrefix(prefix, "-")
}

// matchRest reports whether the words from at on may be what follows the literal words.
func (m *wordMatcher) matchRest(at int) bool {
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
		// Most commands already differ in their first word.
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

// valueOfOption reports whether an option may have no value, and whether the next word may
// be its value. Both are true for unknown options.
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

// textOfWords returns words as the shell will see them, separated by single blanks.
func textOfWords(words []word) string { return command{words: words}.text() }

// mentions returns an expression for code that may start what p matches: it contains the
// program and the further literal words in this order. It returns nil if p has none.
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
