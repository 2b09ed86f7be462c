package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds a line that a program sends, in bytes. What is longer is
// passed over; the connection lives on.
const maxLine = 64 << 20

// lineReader cuts a stream into lines.
type lineReader struct {
	from *bufio.Reader
	max  int
}

// newLineReader returns a reader of lines up to limit bytes, newline included.
// Its buffer is small against the limit: most lines are a few hundred bytes.
func newLineReader(from io.Reader, limit int) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 64<<10), max: limit}
}

// next returns the next line that holds anything, without white space around
// it; a last line need not end in a newline. The slice is the caller's own.
// tooLong says that a line before it was longer than the limit and left out.
// The error is the stream's, io.EOF at its end.
func (l *lineReader) next() (line []byte, tooLong bool, err error) {
	for {
		line, long, err := l.whole()
		tooLong = tooLong || long
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, tooLong, nil
		}
		if err != nil {
			return nil, tooLong, err
		}
	}
}

// whole returns the next line, nil if it was too long. An error comes with what
// was read before it.
func (l *lineReader) whole() (line []byte, tooLong bool, err error) {
	for {
		part, err := l.from.ReadSlice('\n')
		if len(line)+len(part) > l.max {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}
