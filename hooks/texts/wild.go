package texts

import "strings"

// Wild reports whether the whole text matches pattern, in which * matches any sequence of
// characters.
func Wild(pattern, text string) bool {
	head, rest, more := strings.Cut(pattern, "*")
	if !more {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		piece, after, last := strings.Cut(rest, "*")
		if !last {
			return strings.HasSuffix(text, piece)
		}
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(piece):], after
	}
}
