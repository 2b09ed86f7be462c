package state

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/coveyteam/covey/events"
)

// nearEnough is the size in bytes of the part of a file that is searched line by line.
const nearEnough = 8 << 10

// offsetAfter returns the end of the last line whose number is at most after. Numbers rise,
// so it halves the part of the file that may hold that end until the part is small.
func offsetAfter(f *os.File, after uint64) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	// All lines that begin before from have numbers up to after, and no line that begins
	// at to or later is needed.
	from, to := int64(0), end
	for to-from > nearEnough {
		middle := from + (to-from)/2
		line, next, err := lineFrom(f, middle, to)
		switch {
		case err != nil:
			return 0, err
		case line.Seq == 0 || line.Seq > after:
			to = middle
		default:
			from = next
		}
	}
	for {
		line, next, err := lineFrom(f, from, to)
		if err != nil || line.Seq == 0 || line.Seq > after {
			return from, err
		}
		from = next
	}
}

// lineFrom returns the first readable line that begins at an offset or later, but before to,
// and the offset of the line after it. The line is empty if there is none.
func lineFrom(f *os.File, offset, to int64) (line events.Line, next int64, err error) {
	next = max(offset-1, 0) // a line begins at offset if a newline ends before it
	r := bufio.NewReader(io.NewSectionReader(f, next, 1<<62))
	skip := offset > 0
	for skip || next < to {
		text, size, err := readText(r)
		next += size
		switch {
		case errors.Is(err, errTorn):
			return events.Line{}, next, nil
		case err != nil && !errors.Is(err, errLongLine):
			return events.Line{}, next, err
		case skip:
			skip = false
			continue
		}
		if line, err := events.Decode(text); err == nil {
			return line, next, nil
		}
	}
	return events.Line{}, next, nil
}
