package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/teammate/agent"
)

// Handover is what a session leaves to the session that takes its place.
type Handover struct {
	Brief agent.Input // what the new session knows of the old one
	Next  string      // the UUID of the new session
}

// line adds the handover to the last line of the old session. A crash after it repeats no
// request for the brief.
func (h Handover) line(ln Line) Line {
	ln.Type, ln.Subtype = SystemLine, Rotated
	ln.Inputs, ln.Next = []agent.Input{h.Brief}, h.Next
	return ln
}

// HandOver appends the last line of a session and commits it to stable storage. ln has the
// scope of the line, and what the request for the brief has used.
func (t *File) HandOver(h Handover, ln Line) error {
	if err := t.Append(h.line(ln)); err != nil {
		return fmt.Errorf("hand over to the next session: %w", err)
	}
	return t.Sync()
}

// Succeed writes the transcript at path of the session that takes the place of the one at
// before: it begins with the handover and goes on with the counts of the old session. The
// transcript is complete on stable storage when Succeed returns, or is not there. One that
// is there already stays: a crash came after it was written.
func Succeed(path, before string, h Handover) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("transcript: %w", err)
	}
	past, err := ReadHistory(before)
	if err != nil {
		return fmt.Errorf("read the session before: %w", err)
	}
	unfinished := path + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("transcript: %w", err)
	}
	file, _, err := Open(unfinished)
	if err != nil {
		return fmt.Errorf("write its transcript: %w", err)
	}
	err = file.Append(begin(past, h))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write its transcript: %w", err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// begin returns the first line of the session that follows past.
func begin(past History, h Handover) Line {
	ln := Line{
		Type: SystemLine, Subtype: Begun, SessionID: h.Next, Cwd: past.cwd, Turn: past.Turns,
		Inputs: append([]agent.Input{h.Brief}, past.Kept...), CostUSD: past.CostUSD, Served: past.Voices,
	}
	if past.Usage != (agent.Usage{}) {
		ln.Usage = &past.Usage
	}
	if len(past.Steps) > 0 {
		ln.Served = maps.Clone(past.Voices)
		if ln.Served == nil {
			ln.Served = map[string]map[int]int{}
		}
		ln.Served[""] = past.Steps
	}
	return ln
}

// begun adds the first line of a session that has taken another's place.
func (p *past) begun(ln Line) {
	p.h.Begun, p.h.Turns, p.h.Kept = true, ln.Turn, ln.Inputs
	p.spend(ln)
	for voice, steps := range ln.Served {
		maps.Copy(p.h.Served(voice), steps)
	}
}

// handedOver adds the last line of a session whose place another takes.
func (p *past) handedOver(ln Line) {
	if len(ln.Inputs) > 0 {
		p.h.Handover = &Handover{Brief: ln.Inputs[0], Next: ln.Next}
	}
	p.h.Turns = max(p.h.Turns, ln.Turn)
	p.served(ln)
	p.spend(ln)
}
