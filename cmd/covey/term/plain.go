package term

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain disarms foreign text for a terminal: what agents, hooks and files say
// must not move the cursor, set colours, write the clipboard or turn the
// reading direction around. Such characters show as \x1b, \u202e and so on;
// newlines and tabs stay, CRLF becomes a newline, and bytes that are not UTF-8
// become U+FFFD.
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

// isPlain is the quick way out for text that needs nothing. Nearly all text is.
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

// harmless tells whether a terminal shows r and does nothing else. Category C
// holds the control characters and the invisible format characters, but for the
// joiners that emoji and some scripts need.
func harmless(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d', utf8.RuneError:
		return true
	case '\u2028', '\u2029':
		return false
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// isASCII tells whether a text has nothing but the printable characters of ASCII, each one
// column wide: nearly all text in a long list, which needs no closer look.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// PlainLine is plain for one line: runs of white space become one space. Cells
// of tables and one-line entries go through it, so that nobody can forge a row
// with a newline.
func PlainLine(s string) string {
	if isASCII(s) && s == strings.TrimSpace(s) && !strings.Contains(s, "  ") {
		return s // nearly all lines of a long list
	}
	return strings.Join(strings.Fields(Plain(s)), " ")
}

// plainJSON disarms JSON without changing what it means: the characters that
// the encoder leaves alone and a terminal might obey become \u escapes. Outside
// of strings JSON has none of them. data must be sound JSON in UTF-8. What a
// program reads from it stays the same, and so does what a person copies.
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
