package state

import (
	"bytes"
	"os"
	"sync"
)

// RunRecord is the run.json of a running team, as the team wrote it. All processes of
// this user can write the file, including the members', and other commands rely on it.
type RunRecord struct {
	mu      sync.Mutex
	last    RunFile
	written []byte // nil: nothing written yet
}

// Write replaces run.json. If that fails, Restore tries again.
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

// Current returns what was written last; false: nothing was.
func (r *RunRecord) Current() (RunFile, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.written != nil
}

// Restore writes run.json again if it is not what the team wrote, and reports whether
// it did.
func (r *RunRecord) Restore(p Place) (restored bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := os.ReadFile(p.RunFile())
	if r.written == nil || err == nil && bytes.Equal(data, r.written) {
		return false, nil
	}
	return true, WriteAtomic(p.RunFile(), r.written)
}
