package term

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain makes foreign text safe for a terminal: text of agents, hooks and files must
// not move the cursor, set colours, write the clipboard or reverse the reading
// direction. Such characters become \x1b, \u202e and so on; newlines and tabs stay,
// CRLF becomes a newline, and invalid UTF-8 becomes U+FFFD.
func Plain(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case harmless(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// isPlain is the fast path for text that needs no change, as nearly all text.
func isPlain(s string) bool {
	if isASCII(s) {
		return true
	}
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !harmless(r) {
			return false
		}
	}
	return true
}

// harmless reports whether a terminal shows r and does nothing else. Category C holds
// the control characters and the invisible format characters, including the joiners
// that emoji and some scripts need, which are harmless.
func harmless(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d', utf8.RuneError:
		return true
	case '\u2028', '\u2029':
		return false
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// isASCII reports whether a text has only printable ASCII characters, each one column
// wide, as nearly all text in long lists.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// PlainLine is Plain for one line: runs of white space become one space. Cells of
// tables and one-line entries pass through it, so that a newline cannot forge a row.
func PlainLine(s string) string {
	if isASCII(s) && s == strings.TrimSpace(s) && !strings.Contains(s, "  ") {
		return s // nearly all lines of a long list
	}
	return strings.Join(strings.Fields(Plain(s)), " ")
}

// plainJSON makes JSON safe for a terminal without changing its meaning: characters
// that the encoder does not escape and a terminal might obey become \u escapes. JSON
// has them only in strings. data must be valid JSON in UTF-8.
func plainJSON(data []byte) []byte {
	if isPlain(string(data)) {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		switch {
		case harmless(r) || r == '\r':
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		}
	}
	return b.Bytes()
}
