package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/coveyteam/covey/events"
)

// maxLine limits the length of a line in bytes, so that a file that is not a
// journal cannot use up the memory. The journal's own lines are far shorter.
const maxLine = 256 << 20

// LineError reports a damaged line. Reading continues after it.
type LineError struct {
	Path   string
	Offset int64 // of the line's first byte
	Err    error
}

// Error returns a text with the line's offset.
func (e *LineError) Error() string {
	return fmt.Sprintf("%s: damaged line at byte %d: %v", e.Path, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

var (
	errTorn     = errors.New("the line has no end")
	errLongLine = fmt.Errorf("longer than %d bytes", maxLine)
)

// ReadJournal yields the lines of the journal at path whose Seq is greater than after.
// It leaves out an incomplete last line. It yields a *LineError for a damaged
// line and continues; any other error ends the iteration.
func ReadJournal(path string, after uint64) iter.Seq2[events.Line, error] {
	return func(yield func(events.Line, error) bool) {
		r, err := openLines(path, after)
		if err != nil {
			yield(events.Line{}, err)
			return
		}
		defer r.close()
		r.each(yield)
	}
}

// JournalRange is like ReadJournal for the lines from number first to number last. It finds the first one
// without reading those before it.
func JournalRange(path string, first, last uint64) iter.Seq2[events.Line, error] {
	return func(yield func(events.Line, error) bool) {
		for l, err := range ReadJournal(path, max(first, 1)-1) {
			if l.Seq > last || !yield(l, err) || l.Seq == last {
				return
			}
		}
	}
}

// lineReader reads whole lines from a journal that may be growing.
type lineReader struct {
	path   string
	file   *os.File
	buf    *bufio.Reader
	offset int64  // of the next line
	after  uint64 // lines up to this number are skipped
}

// openLines opens the journal at path after the line with number after.
func openLines(path string, after uint64) (*lineReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	r := &lineReader{path: path, file: f, after: after}
	if after > 0 {
		r.offset, err = offsetAfter(f, after)
	}
	if err == nil {
		err = r.rewind()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), f.Close())
	}
	return r, nil
}

// close closes the file.
func (r *lineReader) close() { _ = r.file.Close() } // it was only read

// rewind seeks to the beginning of the next line, after next has failed with
// errTorn.
func (r *lineReader) rewind() error {
	if _, err := r.file.Seek(r.offset, io.SeekStart); err != nil {
		return err
	}
	if r.buf == nil {
		r.buf = bufio.NewReaderSize(r.file, 64<<10)
	} else {
		r.buf.Reset(r.file)
	}
	return nil
}

// each yields all whole lines up to the end of the file. It returns false if the
// iteration is over, because yield returned false or because of an error.
func (r *lineReader) each(yield func(events.Line, error) bool) bool {
	for {
		line, err := r.next()
		var damaged *LineError
		switch {
		case errors.Is(err, errTorn):
			return true
		case errors.As(err, &damaged):
			if !yield(events.Line{}, err) {
				return false
			}
		case err != nil:
			yield(events.Line{}, fmt.Errorf("journal %s: %w", r.path, err))
			return false
		case line.Seq > r.after:
			r.after = line.Seq
			if !yield(line, nil) {
				return false
			}
		}
	}
}

// next reads a line. After the last whole line it fails with errTorn; then rewind
// must be called before the next call.
func (r *lineReader) next() (events.Line, error) {
	text, size, err := readText(r.buf)
	if err != nil && !errors.Is(err, errLongLine) {
		return events.Line{}, err
	}
	at := r.offset
	r.offset += size
	var line events.Line
	if err == nil {
		line, err = events.Decode(text)
	}
	if newer := newerJournal(line); newer != nil {
		return events.Line{}, newer // unlike a LineError, it ends the iteration
	}
	if err != nil {
		return events.Line{}, &LineError{Path: r.path, Offset: at, Err: err}
	}
	return line, nil
}

// readText reads up to and including the next newline, and returns the number of
// bytes. It returns no text for a line longer than maxLine.
func readText(r *bufio.Reader) (text []byte, size int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		size += int64(len(part))
		if size <= maxLine {
			text = append(text, part...)
		} else {
			text = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, size, errTorn
		case err != nil:
			return nil, size, err
		case size > maxLine:
			return nil, size, errLongLine
		default:
			return text, size, nil
		}
	}
}
