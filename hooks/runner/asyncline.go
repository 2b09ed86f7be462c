package runner

import (
	"bytes"
	"io"
	"time"
)

// maxFirstLine bounds the line on which a hook may ask to continue in the background. A
// longer line is an answer.
const maxFirstLine = 4096

// asyncDetector passes a hook's stdout on and inspects its first line: a hook that prints
// {"async":true} there asks to continue in the background.
type asyncDetector struct {
	to  io.Writer
	ask func(limit time.Duration) // called at most once; limit is 0 if the hook names none

	head []byte
	done bool // the first line is known
}

// Write inspects p and passes it on.
func (d *asyncDetector) Write(p []byte) (int, error) {
	if !d.done {
		d.scan(p)
	}
	return d.to.Write(p)
}

// scan reads more of the first line. A whole object counts as a line before its newline
// arrives, because the hook may never print another byte.
func (d *asyncDetector) scan(p []byte) {
	d.head = append(d.head, p[:min(len(p), maxFirstLine+1-len(d.head))]...)
	line, _, ended := bytes.Cut(bytes.TrimLeft(d.head, blanks), []byte("\n"))
	limit, asks := AsksForBackground(line)
	d.done = asks || ended || len(d.head) > maxFirstLine || len(line) >= len(byteOrderMark) && line[0] != '{'
	if d.done {
		d.head = nil
	}
	if asks {
		d.ask(limit)
	}
}
