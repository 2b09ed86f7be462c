package runner

import (
	"bytes"
	"io"
	"time"

	"github.com/coveyteam/covey/hooks/judging"
)

// maxFirstLine bounds the line on which a hook may ask to go on in the
// background. What is longer is an answer.
const maxFirstLine = 4096

// herald passes a hook's stdout on and looks at its first line: a hook that
// prints {"async":true} there asks that nobody waits for it any more.
type herald struct {
	to  io.Writer
	ask func(limit time.Duration) // called at most once; limit 0: the hook names none

	head []byte
	done bool // the first line is known
}

// Write hands p on.
func (w *herald) Write(p []byte) (int, error) {
	if !w.done {
		w.look(p)
	}
	return w.to.Write(p)
}

// look takes in more of the beginning. Without its newline a line counts as soon
// as it is a whole object: a hook may never print another byte.
func (w *herald) look(p []byte) {
	w.head = append(w.head, p[:min(len(p), maxFirstLine+1-len(w.head))]...)
	line, _, ended := bytes.Cut(bytes.TrimLeft(w.head, " \t\r\n"), []byte("\n"))
	limit, asks := judging.AsksForBackground(line)
	w.done = asks || ended || len(w.head) > maxFirstLine || len(line) > 0 && line[0] != '{'
	if w.done {
		w.head = nil
	}
	if asks {
		w.ask(limit)
	}
}
