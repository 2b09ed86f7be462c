package runner

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds on how much of a hook's output is kept.
const (
	defaultOutputCap = 64 << 10
	// answerCap is how much of stdout is kept while it looks like a JSON answer: a
	// truncated answer cannot be read, and long reasons are legal.
	answerCap = 1 << 20
	// tailCap is how much of a gate's output becomes its feedback. The end is kept,
	// because a test run reports there what failed.
	tailCap = 6000
)

// byteOrderMark is what some programs, above all on Windows, write before their text.
const byteOrderMark = "\uFEFF"

// blanks may stand before a hook's answer.
const blanks = " \t\r\n" + byteOrderMark

// capture keeps the beginning of a stream and counts the rest.
type capture struct {
	kept    []byte
	limit   int
	dropped int64
	also    *tail // receives all writes too; may be nil
}

// Write never fails: bytes that do not fit are counted and dropped.
func (c *capture) Write(p []byte) (int, error) {
	if c.also != nil {
		c.also.Write(p)
	}
	room := min(c.limit-len(c.kept), len(p))
	c.kept = append(c.kept, p[:room]...)
	c.dropped += int64(len(p) - room)
	return len(p), nil
}

// answerCapture captures stdout. Text that begins like a JSON object may be longer,
// because an object can only be read whole.
type answerCapture struct{ capture }

// Write raises the limit if the first byte that is not a blank is a brace.
func (c *answerCapture) Write(p []byte) (int, error) {
	if c.limit < answerCap && len(c.kept) < c.limit {
		// The brace may come in a later write than the blanks and the mark in front of it.
		head := bytes.TrimLeft(c.kept, blanks)
		if len(head) < len(byteOrderMark) {
			head = bytes.TrimLeft(slices.Concat(head, p), blanks)
		}
		if bytes.HasPrefix(head, []byte("{")) {
			c.limit = answerCap
		}
	}
	return c.capture.Write(p)
}

// text returns the kept bytes as valid UTF-8, at most limit of them, without a byte order mark.
func (c *capture) text(limit int) string {
	kept := c.kept[:min(len(c.kept), limit)]
	if len(kept) < len(c.kept) || c.dropped > 0 {
		kept = wholeRunes(kept)
	}
	return validText(bytes.TrimPrefix(kept, []byte(byteOrderMark)))
}

// validText returns text as valid UTF-8: each bad byte becomes one U+FFFD, as in recorded hosts.
func validText(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}

// wholeRunes returns text without the beginning of a character that was cut at its end.
func wholeRunes(text []byte) []byte {
	for i := len(text) - 1; i >= max(len(text)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// cutNote tells people how much of a stream was dropped; "" if nothing was.
func (c *capture) cutNote(stream string, limit int) string {
	lost := c.dropped + int64(max(len(c.kept)-limit, 0))
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf("%d more bytes of %s were not kept", lost, stream)
}

// tail keeps the end of one stream.
type tail struct {
	kept []byte
	cut  bool
}

// Write keeps the last tailCap bytes.
func (t *tail) Write(p []byte) {
	if len(p) > tailCap {
		p, t.cut = p[len(p)-tailCap:], true
	}
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailCap; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
}

// text returns the end of the stream, at most limit bytes of it, as valid UTF-8. If
// something was cut, it begins at the start of a line where possible.
func (t *tail) text(limit int) string {
	kept, cut := t.kept, t.cut
	if len(kept) > limit {
		kept, cut = kept[len(kept)-limit:], true
	}
	if !cut {
		return strings.TrimSpace(validText(kept))
	}
	if i := bytes.IndexByte(kept, '\n'); i >= 0 && i < len(kept)/2 {
		kept = kept[i+1:]
	}
	for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
		kept = kept[1:]
	}
	return "…\n" + strings.TrimSpace(validText(kept))
}

// endOf returns the end of what a gate printed: stdout, then stderr. The streams come
// through two pipes, so the order of their lines is unknown; stderr comes last and has at
// least half of the room.
func endOf(stdout, stderr *tail) string {
	errors := stderr.text(max(tailCap/2, tailCap-len(stdout.kept)))
	text := stdout.text(max(tailCap-len(errors), 0))
	switch {
	case text == "" || len(stdout.kept) == 0:
		return errors
	case errors == "":
		return text
	}
	return text + "\n" + errors
}
