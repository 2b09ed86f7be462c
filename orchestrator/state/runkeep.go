package state

import (
	"bytes"
	"os"
	"sync"
)

// RunRecord is the run.json of a team that runs, as the team has written it. Every process
// of this user can write there, the members' among them, and other commands believe what it says.
type RunRecord struct {
	mu      sync.Mutex
	last    RunFile
	written []byte // nil: nothing yet
}

// Write replaces run.json. If that fails restore tries again.
func (r *RunRecord) Write(p Place, f RunFile) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := f.text()
	if err != nil {
		return err
	}
	r.last, r.written = f, data
	return f.Write(p)
}

// Current is what was written last; false: nothing was.
func (r *RunRecord) Current() (RunFile, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.written != nil
}

// Restore writes run.json anew if it is not what the team has written, and reports that.
func (r *RunRecord) Restore(p Place) (restored bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := os.ReadFile(p.RunFile())
	if r.written == nil || err == nil && bytes.Equal(data, r.written) {
		return false, nil
	}
	return true, WriteAtomic(p.RunFile(), r.written)
}
