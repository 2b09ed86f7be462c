package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line that a program may send, in bytes. A longer line is skipped;
// the connection stays open.
const maxLine = 64 << 20

// lineReader splits a stream into lines.
type lineReader struct {
	from *bufio.Reader
	max  int
}

// newLineReader returns a reader of lines up to limit bytes, newline included. Its buffer
// is much smaller than the limit, because most lines have a few hundred bytes.
func newLineReader(from io.Reader, limit int) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 64<<10), max: limit}
}

// next returns the next non-empty line without surrounding white space; the last line need
// not end in a newline. The caller owns the slice. tooLong reports that a line before it
// exceeded the limit and was skipped. The error is the stream's, io.EOF at its end.
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

// whole returns the next line, or nil if it was too long. An error comes together with what
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
