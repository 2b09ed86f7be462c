package rules

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
)

// A deny or ask rule for the shell treats what cannot be decided as a match: a command
// whose program is not literal, and one whose unknown words may be the literal words of the
// rule. Options before the words of the rule are skipped: git -C dir push is git push.

// pattern is a Bash specifier as a deny or ask rule uses it.
type pattern struct {
	literal []string // the words before the first that contains *
	rest    string   // what follows them; "*" matches anything or nothing
}

// patternOf parses a specifier.
func patternOf(spec string) pattern {
	spec = strings.Join(strings.Fields(spec), " ")
	if bare, ok := strings.CutSuffix(spec, ":*"); ok {
		spec = bare + " *"
	}
	var p pattern
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
func (r Rule) catchesIn(line *shell.Line) (part string, yes bool) {
	p := patternOf(r.Spec)
	commands := line.Of(shell.Written, shell.Scripted, shell.Started)
	if i := slices.IndexFunc(commands, p.catches); i >= 0 {
		return shown(commands[i]), true
	}
	switch {
	case line.Doubt != "":
		return line.Doubt, true
	case strings.TrimSpace(line.Text) == strings.TrimSpace(r.Spec):
		return line.Text, true
	}
	mentioned := p.mentions()
	if mentioned == nil {
		return "", false
	}
	if i := slices.IndexFunc(line.Code, mentioned.MatchString); i >= 0 {
		return line.Code[i], true
	}
	if line.Computes && mentioned.MatchString(line.Text) {
		return line.Text, true
	}
	return "", false
}

// shown returns a command for people: as it was written, if that is known.
func shown(c shell.Command) string {
	return cmp.Or(c.Source, strings.ReplaceAll(c.Text(), string(shell.Unknown), "…"))
}

// catches reports whether a command matches p.
func (p pattern) catches(c shell.Command) bool {
	return len(c.Words) > 0 && p.meets(c.Words, c.Guessed)
}

// meets reports whether words match p. Unless plain is set, unknown words count as a match
// if they may be one.
func (p pattern) meets(words []shell.Word, plain bool) bool {
	name, known := words[0].Program()
	if !known {
		return !plain
	}
	m := wordMatcher{pattern: p, program: name, words: words, plain: plain, seen: map[[2]int]bool{}}
	if len(p.literal) > 0 {
		return (p.literal[0] == words[0].Value || p.literal[0] == name) && m.matchFrom(1, 1)
	}
	// Such a pattern has no place for its words, so that a word may be one of them is no match, unless
	// it begins like one.
	words = slices.Clone(words)
	for i, w := range words {
		begin, _, _ := strings.Cut(w.Value, string(shell.Unknown))
		if !w.Static && (len(begin) < 2 || !strings.Contains(p.rest, "*"+begin) && !strings.Contains(p.rest, " "+begin)) {
			words[i] = shell.Word{Value: strings.ReplaceAll(w.Value, string(shell.Unknown), hole), Static: true}
		}
	}
	m.words = words
	return m.matchRest(0) || name != words[0].Value && mayFit(p.rest,
		textOfWords(append([]shell.Word{{Value: name}}, words[1:]...)))
}

// wordMatcher matches a command's words against a pattern's.
type wordMatcher struct {
	pattern
	program string
	words   []shell.Word
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
	if m.plain && !w.Static {
		return false
	}
	if lit < len(m.literal) {
		if w.Splits && m.mayBecome(w, m.literal[lit]) {
			return true
		}
		if mayFit(m.literal[lit], w.Value) && m.matchFrom(lit+1, at+1) {
			return true
		}
	} else if prefix, _, _ := strings.Cut(m.pattern.rest, "*"); prefix == "" {
		return false // the rest may be anything, and did not match
	} else if w.Splits && m.mayBecome(w, prefix) {
		return true
	}
	if !w.MayBeOption() {
		return false
	}
	alone, pair := w.OptionOf(m.program)
	return alone && m.matchFrom(lit, at+1) || pair && at+1 < len(m.words) &&
		(m.words[at+1].Splits && !m.plain || m.matchFrom(lit, at+2))
}

// mayBecome reports whether a word may expand to a text, perhaps after options.
func (m *wordMatcher) mayBecome(w shell.Word, text string) bool {
	prefix, _, _ := strings.Cut(w.Value, string(shell.Unknown))
	return strings.HasPrefix(text, prefix) || strings.HasPrefix(prefix, "-")
}

// matchRest reports whether the words from at on may be what follows the literal words.
func (m *wordMatcher) matchRest(at int) bool {
	rest := m.pattern.rest
	if rest == "*" {
		return true
	}
	if m.plain && at < len(m.words) && !m.words[at].Static {
		return false
	}
	if rest == "" {
		return !slices.ContainsFunc(m.words[at:], func(w shell.Word) bool { return !w.Splits })
	}
	if at < len(m.words) && m.words[at].Static {
		// Most commands already differ in their first word.
		prefix, _, _ := strings.Cut(rest, "*")
		word := m.words[at].Value
		if n := min(len(prefix), len(word)); prefix[:n] != word[:n] {
			return false
		}
	}
	return mayFit(rest, textOfWords(m.words[at:]))
}

// textOfWords returns words as the shell will see them, separated by single blanks.
func textOfWords(words []shell.Word) string { return shell.Command{Words: words}.Text() }

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
