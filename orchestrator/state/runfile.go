package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/coveyteam/covey/orchestrator/process"
)

// RunFormat is the format of run.json that we write.
const RunFormat = 1

// RunFile describes the last run of a team. `covey up` writes it when the team starts
// and when it ends; a run without an end and without a process crashed.
type RunFile struct {
	Format    int       `json:"format"`
	Team      string    `json:"team"`
	Workspace string    `json:"workspace"` // real path
	Spec      string    `json:"spec"`      // absolute path
	Goal      string    `json:"goal"`
	Members   []string  `json:"members"` // the lead first
	Socket    string    `json:"socket"`
	PID       int       `json:"pid"`
	Birth     string    `json:"birth"` // distinguishes the process from a later one with its pid
	Started   time.Time `json:"started"`
	Version   string    `json:"version,omitempty"` // of covey
	Protocol  int       `json:"protocol"`          // of its control socket

	Result *RunResult `json:"result,omitempty"` // nil while it runs, and after a crash

	// Before is the team's last run while `covey merge` runs instead of the team.
	Before *RunFile `json:"before,omitempty"`
}

// LastRun returns the last run of the team itself, skipping a killed `covey merge`.
func (r RunFile) LastRun() RunFile {
	if r.Before != nil {
		return *r.Before
	}
	return r
}

// RunResult describes how a run ended.
type RunResult struct {
	Reason   string    `json:"reason"`
	ExitCode int       `json:"exit_code"`
	Ended    time.Time `json:"ended"`
	Answer   string    `json:"answer,omitempty"`   // the lead's last text
	Unmerged []string  `json:"unmerged,omitempty"` // finished work that is in none of the user's branches
}

// NewRunFile returns the RunFile of this process for a run that starts now. protocol is
// the version of its control socket's protocol.
func NewRunFile(p Place, now time.Time, protocol int) RunFile {
	pid := os.Getpid()
	birth, err := process.Birth(pid)
	if err != nil {
		birth = "" // then only the lock tells whether it runs
	}
	return RunFile{
		Format: RunFormat, Team: p.Team, Workspace: p.Workspace, Socket: p.Socket(),
		PID: pid, Birth: birth, Started: now, Protocol: protocol,
	}
}

// ReadRunFile reads a Place's run.json. It fails with fs.ErrNotExist if the team never
// ran, and with ErrNewer if a newer covey wrote the file; then only the fields that say
// which team it is may be used. Other errors say what is wrong and what to do.
func ReadRunFile(p Place) (RunFile, error) {
	data, err := os.ReadFile(p.RunFile())
	if err != nil {
		return RunFile{}, err
	}
	var format struct{ Format int }
	if err := json.Unmarshal(data, &format); err != nil {
		return RunFile{}, damagedRun(p, err)
	}
	var r RunFile
	if format.Format > RunFormat {
		_ = json.Unmarshal(data, &r) // what is still in its place serves to find the team
		return r, fmt.Errorf("%s: %w (format %d, this one reads up to %d)",
			p.RunFile(), ErrNewer, format.Format, RunFormat)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return RunFile{}, damagedRun(p, err)
	}
	if r.Format < 1 || r.Team != p.Team {
		return RunFile{}, damagedRun(p, fmt.Errorf("not a run file of team %s", p.Team))
	}
	return r, nil
}

// damagedRun returns the error for a damaged run.json, with which nothing of the team
// is lost.
func damagedRun(p Place, err error) error {
	return fmt.Errorf("%s is damaged: %w; covey up replaces it and continues the team", p.RunFile(), err)
}

// Write writes the file into its Place atomically.
func (r RunFile) Write(p Place) error {
	data, err := r.text()
	if err != nil {
		return err
	}
	if err := WriteAtomic(p.RunFile(), data); err != nil {
		return fmt.Errorf("run file: %w", err)
	}
	return nil
}

// text returns the file's content.
func (r RunFile) text() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return append(data, '\n'), err
}

// Running reports whether the team runs now, and returns its run.json. A run.json that
// a crash left behind does not count, even if another process has the same pid now. ok
// is also false if there is no readable run.json.
func Running(p Place) (r RunFile, ok bool) {
	r, err := ReadRunFile(p)
	if err != nil || r.Result != nil || r.PID <= 0 {
		return r, false
	}
	info, err := process.Read(r.PID)
	if err == nil {
		return r, !info.Zombie && info.Birth == r.Birth
	}
	// Where /proc is mounted with hidepid, a process that hides its memory is not
	// visible even to its own user; other systems may have no /proc.
	return r, (errors.Is(err, errors.ErrUnsupported) || exists(r.PID)) && LockHeld(p.Lock())
}

// exists reports whether a process with a pid exists, visible or not.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// WriteAtomic replaces the file at path, mode 0600: after a crash at any moment it has
// the old or the new content.
func WriteAtomic(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), newFile(path)+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(path))
}

// newFile returns the prefix of the names of temporary files that replace the file at
// path.
func newFile(path string) string { return "." + filepath.Base(path) + "." }

// Sweep removes temporary files of run.json that a kill left behind. The team's lock
// must be held, so that no other process writes there. Files that cannot be removed do
// no harm; the error is for the log.
func Sweep(p Place) error {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return fmt.Errorf("list the files of a killed run: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), newFile(p.RunFile())) && e.Type().IsRegular() {
			errs = append(errs, os.Remove(filepath.Join(p.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
