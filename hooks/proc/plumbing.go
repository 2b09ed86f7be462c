package proc

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// earlyInput is how much input is written before the program starts. A pipe holds at least
// one page, even for a user who has used up their share of pipe memory, so this much never
// blocks. More needs a goroutine.
const earlyInput = 4096

// plumbing is the three pipes of one program. The program gets real files, so that waiting
// for the program does not wait for its pipes: a grandchild may hold those open for any
// time.
type plumbing struct {
	children []*os.File // the program's ends; closed once it has them
	input    *os.File   // our end of stdin, while there is input left to write
	rest     []byte     // the input left to write
	outputs  []output
	running  atomic.Int32  // pumps that have not ended
	drained  chan struct{} // closed when the last pump has ended
}

// output is our end of one output stream and where it goes.
type output struct {
	from *os.File
	to   io.Writer
}

// plumb opens the pipes that p needs and passes the program's ends to cmd.
func (p Process) plumb(cmd *exec.Cmd) (*plumbing, error) {
	pl := &plumbing{}
	if p.Stdin != nil {
		if err := pl.feed(cmd, p.Stdin); err != nil {
			pl.abandon()
			return nil, err
		}
	}
	out, err := pl.collect(p.Stdout)
	if err != nil {
		pl.abandon()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = fileOrNil(out), fileOrNil(out)
	if p.Stderr == nil || !sameWriter(p.Stderr, p.Stdout) {
		if out, err = pl.collect(p.Stderr); err != nil {
			pl.abandon()
			return nil, err
		}
		cmd.Stderr = fileOrNil(out)
	}
	return pl, nil
}

// fileOrNil returns a nil writer for a nil file.
func fileOrNil(f *os.File) io.Writer {
	if f == nil {
		return nil
	}
	return f
}

// sameWriter reports whether a and b are the same writer, as os/exec does: values of types
// that are not comparable are never the same.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}

// feed opens the program's stdin and writes the first page of input to it.
func (pl *plumbing) feed(cmd *exec.Cmd, input []byte) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdin = read
	pl.children = append(pl.children, read)
	pl.input = write
	early := input[:min(len(input), earlyInput)]
	if _, err := write.Write(early); err != nil {
		return err
	}
	pl.rest = input[len(early):]
	if len(pl.rest) == 0 {
		pl.input = nil
		return write.Close()
	}
	return nil
}

// collect opens a pipe whose output goes to w, and returns the program's end.
func (pl *plumbing) collect(w io.Writer) (*os.File, error) {
	if w == nil {
		return nil, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	pl.children = append(pl.children, write)
	pl.outputs = append(pl.outputs, output{read, w})
	return write, nil
}

// begin is called once the program has started. It closes the program's ends and starts the
// pumps, for which finish waits.
func (pl *plumbing) begin() {
	closeAll(pl.children)
	pl.drained = make(chan struct{})
	pumps := make([]func(), 0, 3)
	if pl.input != nil {
		pumps = append(pumps, pl.feedRest)
	}
	for _, out := range pl.outputs {
		pumps = append(pumps, func() { pump(out) })
	}
	if len(pumps) == 0 {
		close(pl.drained)
		return
	}
	pl.running.Store(int32(len(pumps)))
	for _, work := range pumps {
		go func() {
			work()
			if pl.running.Add(-1) == 0 {
				close(pl.drained)
			}
		}()
	}
}

// feedRest writes the rest of the input. Errors are ignored: a program need not read its
// input (EPIPE), and finish sets a deadline.
func (pl *plumbing) feedRest() {
	_, _ = pl.input.Write(pl.rest)
	_ = pl.input.Close()
}

// pump copies one output until it ends. If the writer fails, pump discards the rest, so that
// the program is not stopped.
func pump(out output) {
	if _, err := io.Copy(out.to, out.from); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		_, _ = io.Copy(io.Discard, out.from)
	}
}

// finish waits for the pumps after the program has ended, for lingerDelay at most, and
// closes everything. It always reads everything that the program itself has written. It
// reports whether a process still held an output open.
func (pl *plumbing) finish() (held bool) {
	if pl.input != nil {
		// Only children are left that could read, and the input is not for them.
		_ = pl.input.SetWriteDeadline(time.Now())
	}
	timer := time.NewTimer(lingerDelay)
	defer timer.Stop()
	select {
	case <-pl.drained:
	case <-timer.C:
		for _, out := range pl.outputs {
			if out.from.SetReadDeadline(time.Now()) != nil {
				_ = out.from.Close() // where pipes have no deadlines, closing ends the read
			}
		}
		<-pl.drained
		// On a busy machine the pumps may not have run at all, and a read past its deadline
		// returns nothing, not even what the program had written before it ended.
		for _, out := range pl.outputs {
			held = !takeRest(out) || held
		}
	}
	for _, out := range pl.outputs {
		_ = out.from.Close()
	}
	return held
}

// maxRest is more than a pipe holds, and bounds what is read from a child that keeps
// writing.
const maxRest = 1 << 20

// takeRest reads what an output's pipe holds now, without waiting. It reports whether the
// output has ended, because no process has it open.
func takeRest(out output) (ended bool) {
	buf := make([]byte, 32<<10)
	for left := maxRest; left > 0; {
		n, err := ReadNow(out.from, buf)
		if n == 0 {
			return errors.Is(err, io.EOF)
		}
		_, _ = out.to.Write(buf[:n]) // a failing writer must not stop the program
		left -= n
	}
	return false
}

// abandon closes everything when the program could not be started.
func (pl *plumbing) abandon() {
	closeAll(pl.children)
	if pl.input != nil {
		_ = pl.input.Close()
	}
	for _, out := range pl.outputs {
		_ = out.from.Close()
	}
}

// closeAll closes files and ignores errors.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
