package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// backChunk is how many bytes are read at a time from the end of a journal.
const backChunk = 64 << 10

// Backwards yields the lines of the journal at path from the last to
// the first, reading no more of the file than it yields. With before it begins
// in front of that line; 0 means the end. A torn last line and damaged lines
// are left out; an error is the last thing yielded.
func Backwards(path string, before uint64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Line{}, fmt.Errorf("journal: %w", err))
			return
		}
		defer f.Close()
		err = backwards(f, func(text []byte, _ int64) bool {
			line, err := parseLine(text)
			if err != nil || (before > 0 && line.Seq >= before) {
				return true
			}
			return yield(line, nil)
		})
		if err != nil {
			yield(Line{}, fmt.Errorf("journal %s: %w", path, err))
		}
	}
}

// Tail returns the last n lines that want accepts, in the order of the
// journal. A nil want accepts all.
func Tail(path string, n int, want func(Line) bool) ([]Line, error) {
	var tail []Line
	if n <= 0 {
		return nil, nil
	}
	for line, err := range Backwards(path, 0) {
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

// offsetAfter is where the first line behind the line numbered after begins.
// It looks from the end, because who asks has mostly read all but the last.
func offsetAfter(f *os.File, after uint64) (int64, error) {
	var end int64 // of the last line that was read before
	err := backwards(f, func(text []byte, offset int64) bool {
		line, err := parseLine(text)
		if err == nil && line.Seq <= after {
			end = offset + int64(len(text)) + 1
			return false
		}
		return true
	})
	return end, err
}

// backwards calls f with each whole line of a file, the last first, and with
// where it begins, until f says false. What stands behind the last newline is
// no whole line.
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

// chunkFor is how much to read in front of a line of which so much has been
// read: twice as much each time, so that a long line costs no more than its
// size a few times over.
func chunkFor(read int) int64 { return int64(max(backChunk, read)) }
