package serve

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/orchestrator/state"
)

// run is a `covey up` that this program has started.
type run struct {
	lines chan events.Event // of this run; closed when the process has ended
	over  chan struct{}     // closed when lines is

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	log    *os.File // its standard error, which outlives this program
	from   int64    // where the log of this run begins

	// Valid once the process has ended.
	err  error  // how
	told string // the beginning of what it has written to standard error
}

// begin starts covey with args. The process has a session of its own, so that a signal to the
// group of this program does not reach it: it ends in order, with its standard input.
func begin(place state.Place, args []string) (*run, error) {
	bin, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := place.Create(); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(place.Dir, "up.log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	r := &run{
		lines: make(chan events.Event), over: make(chan struct{}), cmd: exec.Command(bin, args...), log: log,
	}
	r.cmd.Stderr, r.cmd.SysProcAttr = log, proc.OwnSession()
	r.from, err = log.Seek(0, io.SeekEnd)
	if err == nil {
		r.stdin, err = r.cmd.StdinPipe()
	}
	if err == nil {
		r.stdout, err = r.cmd.StdoutPipe()
	}
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return r, nil
}

// stop tells the process to end in order.
func (r *run) stop() { _ = r.stdin.Close() } // it fails if the process has ended

// read passes on the lines that the process prints, and waits for its end. Once gone is closed,
// nobody takes the lines any more: they are in the journal.
func (r *run) read(gone <-chan struct{}) {
	defer close(r.over)
	defer close(r.lines)
	lines := json.NewDecoder(r.stdout)
	for reading := true; reading; {
		var l events.Line
		if lines.Decode(&l) != nil { // its output has ended
			break
		}
		select {
		case r.lines <- l.Event():
		case <-gone:
			reading = false
		}
	}
	_, _ = io.Copy(io.Discard, r.stdout)
	r.err = r.cmd.Wait()
	told, err := io.ReadAll(io.NewSectionReader(r.log, r.from, maxTold))
	r.told = strings.TrimSpace(term.Plain(string(told)))
	r.err = errors.Join(r.err, err, r.log.Close())
}

// maxTold is how much of the standard error of a run is kept, in bytes.
const maxTold = 16 << 10

// trouble says why a run that is over has no end in the journal.
func (r *run) trouble() string {
	switch {
	case r.told != "":
		return r.told
	case r.err != nil:
		return "it was cut off (" + r.err.Error() + "); the next prompt continues it"
	}
	return "it ended without a word"
}
