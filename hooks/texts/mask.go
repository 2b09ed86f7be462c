package texts

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Masked stands where Mask found a secret. It is shorter than every secret, so that a text does
// not become longer.
const Masked = "***"

// MinSecret is the length in bytes of the shortest value that Mask takes for a secret. Shorter
// ones occur in texts by chance.
const MinSecret = 6

// minRest is how many bytes of a secret Mask recognizes where a text was cut within it.
const minRest = 6

// Mask replaces secrets in a text that leaves the machine: the given ones, and what has the shape
// of a well-known token, a password in a URL or a private key, or stands under a name such as
// password, secret or token. A secret of several lines is masked line by line. Where a text was
// cut, at its ends and at the marks of cuts, Mask also replaces what is left of a secret. Secrets
// that are encoded, as in base64, are not found.
//
// The result is not longer than the text, and valid UTF-8 if the text is.
func Mask(text string, secrets []string) string {
	if text == "" {
		return text
	}
	spans := append(shapes(text), namedSecrets(text)...)
	for _, secret := range secrets {
		for line := range strings.SplitSeq(secret, "\n") {
			if line = strings.TrimSpace(line); len(line) >= MinSecret {
				spans = append(spans, occurrences(text, line)...)
				spans = append(spans, rests(text, line)...)
			}
		}
	}
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	done, mark := 0, -1 // mark: the end of the last span, if nothing stands after it yet
	for _, s := range spans {
		from, to := s.whole(text)
		if to <= done {
			continue
		}
		if from > done {
			b.WriteString(text[done:from])
		}
		if from > done || mark < 0 {
			b.WriteString(Masked)
		}
		done, mark = to, to
	}
	b.WriteString(text[done:])
	return b.String()
}

// span is a part of a text.
type span struct{ from, to int }

// whole widens a span to whole characters.
func (s span) whole(text string) (from, to int) {
	from, to = s.from, s.to
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return from, to
}

// occurrences finds a secret in a text.
func occurrences(text, secret string) (found []span) {
	for at := 0; ; {
		i := strings.Index(text[at:], secret)
		if i < 0 {
			return found
		}
		found = append(found, span{at + i, at + i + len(secret)})
		at += i + len(secret)
	}
}

// cutMarks stand where something was left out of a text.
var cutMarks = []string{"…", "..."}

// rests finds what is left of a secret where a text was cut.
func rests(text, secret string) (found []span) {
	found = append(found, restBefore(text, len(text), secret)...)
	found = append(found, restAfter(text, 0, secret)...)
	for _, mark := range cutMarks {
		for _, s := range occurrences(text, mark) {
			found = append(found, restBefore(text, s.from, secret)...)
			found = append(found, restAfter(text, s.to, secret)...)
		}
	}
	return found
}

// restBefore finds the beginning of a secret that ends where a text was cut.
func restBefore(text string, end int, secret string) []span {
	end = len(strings.TrimRight(text[:end], " \n"))
	for n := min(len(secret)-1, end); n >= minRest; n-- {
		if text[end-n] == secret[0] && text[end-n:end] == secret[:n] {
			return []span{{end - n, end}}
		}
	}
	return nil
}

// restAfter finds the end of a secret that begins where a text was cut.
func restAfter(text string, begin int, secret string) []span {
	begin += len(text[begin:]) - len(strings.TrimLeft(text[begin:], " \n"))
	for n := min(len(secret)-1, len(text)-begin); n >= minRest; n-- {
		if text[begin+n-1] == secret[len(secret)-1] && text[begin:begin+n] == secret[len(secret)-n:] {
			return []span{{begin, begin + n}}
		}
	}
	return nil
}

// shape is the look of a kind of secret: the group 1 of its expression.
type shape struct {
	hint string // each text with such a secret contains it; the expression runs only then
	expr func() *regexp.Regexp
}

// token returns the shape of tokens with a prefix. At a cut, 8 more characters are enough.
func token(hint, prefix, class, least string) shape {
	whole, cut := class+`{`+least+`,}`, class+`{8,}(?:…|\.\.\.|\s*\z)`
	return shape{hint, Pattern(`\b(` + prefix + `(?:` + whole + `|` + cut + `))`)}
}

// bearer is what follows the word: a word of prose has no digit and fewer than 16 letters.
const bearer = `(?i)\bbearer[ \t]+([\w.~+/=-]*\d[\w.~+/=-]{3,}|[\w.~+/=-]{16,})`

// knownShapes are the secrets that their look gives away.
var knownShapes = []shape{
	token("sk-", `sk-`, `[\w-]`, "16"), // OpenAI, Anthropic
	token("sk_", `[rs]k_(?:live|test)_`, `\w`, "10"),
	token("gh", `gh[opsur]_`, `\w`, "16"), // GitHub
	token("github_pat_", `github_pat_`, `\w`, "16"),
	token("glpat-", `glpat-`, `[\w-]`, "16"),
	token("xox", `xox[a-z]-`, `[\w-]`, "8"), // Slack
	token("xapp-", `xapp-`, `[\w-]`, "8"),
	token("KIA", `AKIA`, `[A-Z0-9]`, "12"), // AWS
	token("SIA", `ASIA`, `[A-Z0-9]`, "12"),
	token("AIza", `AIza`, `[\w-]`, "20"), // Google
	token("npm_", `npm_`, `[a-zA-Z0-9]`, "30"),
	token("hf_", `hf_`, `[a-zA-Z0-9]`, "30"),
	token("eyJ", `eyJ[\w-]{8,}\.`, `[\w.-]`, "8"), // a JSON web token
	{"earer", Pattern(bearer)},
	{"EARER", Pattern(bearer)},
	{"uthorization", Pattern(`(?i)\bauthorization:[ \t]*(?:basic|token)[ \t]+([\w.~+/=-]{6,})`)},
	{"://", Pattern(`://[^\s/:@]*:([^\s/@]{3,})@`)},
	{"PRIVATE KEY", Pattern(`(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY` +
		`.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?:-----)?|\z))`)},
}

// shapes finds what looks like a secret.
func shapes(text string) (found []span) {
	for _, s := range knownShapes {
		if !strings.Contains(text, s.hint) {
			continue
		}
		for _, at := range s.expr().FindAllStringSubmatchIndex(text, -1) {
			found = append(found, span{at[2], at[3]})
		}
	}
	return found
}
