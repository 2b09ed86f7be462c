package program

import (
	"errors"
	"io"
	"os"

	"github.com/coveyteam/covey/hooks/proc"
)

// maxRest is more than a pipe holds, and bounds what is read, after a program's end, from a
// child that keeps writing.
const maxRest = 1 << 20

// Output reads what a program writes. It ends with the program: a child that holds the pipe
// open does not keep it from ending, and whatever the program has written is read, however
// late. It has one reader.
type Output struct {
	from *os.File
	late bool // the deadline that the program's end has set has passed
	rest int  // how many bytes may still be read after it
}

// Read reads output. Once the deadline has passed, it reads what the pipe holds, and then
// returns io.EOF: on a busy machine the deadline may pass before anything was read.
func (o *Output) Read(buf []byte) (int, error) {
	if !o.late {
		n, err := o.from.Read(buf)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		o.late = true
	}
	n, err := proc.ReadNow(o.from, buf[:min(len(buf), o.rest)])
	if o.rest -= n; n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Close closes the pipe, which ends a read.
func (o *Output) Close() error { return o.from.Close() }
