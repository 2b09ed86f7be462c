package texts

import (
	"strings"
	"unicode"
)

// MarkdownText returns a foreign text as one line of Markdown that looks like the text: nothing
// in it formats, links, names a person or an issue, closes a table's cell, or is HTML. Hosts such
// as GitHub look for names and numbers after they have read the Markdown, so a backslash does not
// stop them; a character without width behind the sign does.
func MarkdownText(text string) string {
	const apart = "&#8203;"
	var b strings.Builder
	b.Grow(len(text) + 16)
	text = Unbroken(visible(text))
	for i, r := range text {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("@" + apart)
		case r == '#':
			b.WriteString(`\#` + apart)
		case r == ':' && strings.HasPrefix(text[i:], "://"):
			b.WriteString(":" + apart)
		case r == '-' && i >= 2 && strings.EqualFold(text[i-2:i], "gh"): // GH-1 is an issue
			b.WriteString(`\-` + apart)
		case r == '.' && i >= 3 && strings.EqualFold(text[i-3:i], "www"):
			b.WriteString("." + apart)
		case strings.ContainsRune("\\`*_{}[]()!|~$+-=.\"'", r) && marks(text, i):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// marks reports whether the sign at i could be Markdown: some signs are only at the beginning of
// a line, or behind its number.
func marks(text string, i int) bool {
	switch text[i] {
	case '+', '-', '=':
		return i == 0
	case '.', ')':
		return i > 0 && strings.Trim(text[:i], "0123456789") == ""
	case '\'', '"', '(', '{', '}', '!':
		return false // they mean something only beside brackets, which are escaped
	}
	return true
}

// MarkdownCode returns a foreign text as Markdown code in a line. Its fence is longer than any run
// of backticks in the text, because shell commands contain some. In a table, each | needs a backslash.
func MarkdownCode(text string) string {
	text = Unbroken(visible(text))
	sign := "`"
	for strings.Contains(text, sign) {
		sign += "`"
	}
	if text == "" || strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " " // Markdown strips one space at each end
	}
	return sign + text + sign
}

// visible replaces what a reader cannot see or what turns the direction of a text: it could make
// a text look like another one.
func visible(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && r != '\u200d' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			return '\uFFFD'
		}
		return r
	}, text)
}
