package state

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/coveyteam/covey/events"
)

// backChunk is the least number of bytes that are read at a time from the end of
// a journal.
const backChunk = 64 << 10

// JournalBackwards yields the lines of the journal at path from the last to the first,
// and reads only as much of the file as needed. It skips lines with number before
// and later; 0 skips none. It leaves out a torn last line and damaged lines. An
// error is yielded last, and so is ErrNewer at a line of a newer covey.
func JournalBackwards(path string, before uint64) iter.Seq2[events.Line, error] {
	return func(yield func(events.Line, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(events.Line{}, fmt.Errorf("journal: %w", err))
			return
		}
		defer f.Close()
		var newer error
		err = backwards(f, func(text []byte, _ int64) bool {
			line, err := events.Decode(text)
			if err != nil || (before > 0 && line.Seq >= before) {
				return true
			}
			newer = newerJournal(line)
			return newer == nil && yield(line, nil)
		})
		if err = cmp.Or(err, newer); err != nil {
			yield(events.Line{}, fmt.Errorf("journal %s: %w", path, err))
		}
	}
}

// JournalTail returns the last n lines that want accepts, in the order of the journal. A
// nil want accepts all lines.
func JournalTail(path string, n int, want func(events.Line) bool) ([]events.Line, error) {
	var tail []events.Line
	if n <= 0 {
		return nil, nil
	}
	for line, err := range JournalBackwards(path, 0) {
		if err != nil {
			return nil, err
		}
		if want != nil && !want(line) {
			continue
		}
		if tail = append(tail, line); len(tail) == n {
			break
		}
	}
	slices.Reverse(tail)
	return tail, nil
}

// backwards calls f with each whole line of a file and its offset, the last line
// first, until f returns false. Text after the last newline is not a whole line.
func backwards(file *os.File, f func(text []byte, offset int64) bool) error {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var rest []byte // the beginning of the text that follows end, up to its newline
	whole := false  // rest ends with a newline
	for end > 0 {
		begin := max(0, end-chunkFor(len(rest)))
		text := make([]byte, end-begin, end-begin+int64(len(rest)))
		if _, err := file.ReadAt(text, begin); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		text = append(text, rest...)
		for {
			i := bytes.LastIndexByte(text, '\n')
			if i < 0 {
				break
			}
			if whole && !f(text[i+1:], begin+int64(i)+1) {
				return nil
			}
			whole = true
			text = text[:i]
		}
		rest, end = text, begin
	}
	if whole {
		f(rest, 0)
	}
	return nil
}

// chunkFor returns how many bytes to read before a line of which read bytes are
// known. The amount doubles each time, so that the cost of a long line stays
// linear.
func chunkFor(read int) int64 { return int64(max(backChunk, read)) }
