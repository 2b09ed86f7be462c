package runner

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds on what is kept of a hook's output.
const (
	defaultOutputCap = 64 << 10
	// answerCap is how much of stdout is kept while it looks like a JSON answer:
	// an answer that is cut is no answer, and long reasons are legal.
	answerCap = 1 << 20
	// tailCap is how much of a gate's output becomes its feedback: the end, where
	// a test run says what failed.
	tailCap = 6000
)

// capture keeps the beginning of a stream and counts the rest.
type capture struct {
	kept    []byte
	limit   int
	dropped int64
	also    *tail // sees everything too; may be nil
}

// Write never fails: what does not fit is counted.
func (c *capture) Write(p []byte) (int, error) {
	if c.also != nil {
		c.also.Write(p)
	}
	room := min(c.limit-len(c.kept), len(p))
	c.kept = append(c.kept, p[:room]...)
	c.dropped += int64(len(p) - room)
	return len(p), nil
}

// answerCapture is a capture for stdout: what begins like a JSON object may be
// longer, because only the whole of it can be read.
type answerCapture struct{ capture }

// Write widens the limit when the first byte that counts is a brace.
func (c *answerCapture) Write(p []byte) (int, error) {
	if c.limit < answerCap && len(c.kept) < c.limit {
		// The brace may come in a later write than the blanks before it.
		head := c.kept
		if len(bytes.TrimSpace(head)) == 0 {
			head = p
		}
		if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
			c.limit = answerCap
		}
	}
	return c.capture.Write(p)
}

// text is what was kept, cut to limit, as valid UTF-8.
func (c *capture) text(limit int) string {
	kept := c.kept
	if len(kept) > limit {
		kept = kept[:limit]
	}
	return strings.ToValidUTF8(string(kept), "\uFFFD")
}

// cutNote says how much of a stream was not kept, for people; "" if all was.
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

// Write keeps the last bytes.
func (t *tail) Write(p []byte) {
	if len(p) > tailCap {
		p, t.cut = p[len(p)-tailCap:], true
	}
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailCap; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
}

// text is the end, at most limit bytes of it, as valid UTF-8; from a line's
// beginning if something was cut.
func (t *tail) text(limit int) string {
	kept, cut := t.kept, t.cut
	if len(kept) > limit {
		kept, cut = kept[len(kept)-limit:], true
	}
	if !cut {
		return strings.TrimSpace(strings.ToValidUTF8(string(kept), "\uFFFD"))
	}
	if i := bytes.IndexByte(kept, '\n'); i >= 0 && i < len(kept)/2 {
		kept = kept[i+1:]
	}
	for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
		kept = kept[1:]
	}
	return "…\n" + strings.TrimSpace(strings.ToValidUTF8(string(kept), "\uFFFD"))
}

// endOf is the end of what a gate printed: stdout, then stderr. They come by two
// pipes, so which of two lines was printed first cannot be known; what is on
// stderr stands last, and has at least half of the room.
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
