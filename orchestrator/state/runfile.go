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

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/process"
)

// runFormat is the format of run.json that we write.
const runFormat = 1

// RunFile tells of the last run of a team. `covey up` writes it when the team
// starts and when it ends; a run without an end and without a process crashed.
type RunFile struct {
	Format    int       `json:"format"`
	Team      string    `json:"team"`
	Workspace string    `json:"workspace"` // real path
	Spec      string    `json:"spec"`      // absolute path
	Goal      string    `json:"goal"`
	Members   []string  `json:"members"` // the lead first
	Socket    string    `json:"socket"`
	PID       int       `json:"pid"`
	Birth     string    `json:"birth"` // tells the process apart from a later one with its pid
	Started   time.Time `json:"started"`
	Version   string    `json:"version,omitempty"`  // of covey
	Protocol  int       `json:"protocol,omitempty"` // that its control socket speaks; 0: it does not say

	Result *RunResult `json:"result,omitempty"` // nil while it runs, and after a crash

	// Before is the team's last run while `covey merge` works in place of the team.
	Before *RunFile `json:"before,omitempty"`
}

// LastRun is the last run in which the team itself ran: a `covey merge` that was killed is none.
func (r RunFile) LastRun() RunFile {
	if r.Before != nil {
		return *r.Before
	}
	return r
}

// RunResult is how a run ended.
type RunResult struct {
	Reason   string              `json:"reason"`
	ExitCode int                 `json:"exit_code"`
	Ended    time.Time           `json:"ended"`
	Answer   string              `json:"answer,omitempty"` // the lead's last text
	Budget   []journal.BudgetUse `json:"budget,omitempty"` // what was used of the team's budget by then, over all runs
}

// NewRunFile is the RunFile of this process for a run that starts now. protocol is what its control
// socket speaks.
func NewRunFile(p Place, now time.Time, protocol int) RunFile {
	pid := os.Getpid()
	birth, err := process.Birth(pid)
	if err != nil {
		birth = "" // the lock alone tells then
	}
	return RunFile{
		Format: runFormat, Team: p.Team, Workspace: p.Workspace, Socket: p.Socket(),
		PID: pid, Birth: birth, Started: now, Protocol: protocol,
	}
}

// ReadRunFile reads a Place's run.json. It fails with fs.ErrNotExist if the
// team never ran, with ErrNewer if a newer covey wrote the file, and else says what is
// wrong with it and the way out.
func ReadRunFile(p Place) (RunFile, error) {
	data, err := os.ReadFile(p.RunFile())
	if err != nil {
		return RunFile{}, err
	}
	var format struct{ Format int }
	if err := json.Unmarshal(data, &format); err != nil {
		return RunFile{}, damagedRun(p, err)
	}
	if format.Format > runFormat {
		return RunFile{}, fmt.Errorf("%s: %w (format %d, this one reads up to %d)",
			p.RunFile(), journal.ErrNewer, format.Format, runFormat)
	}
	var r RunFile
	if err := json.Unmarshal(data, &r); err != nil {
		return RunFile{}, damagedRun(p, err)
	}
	if r.Format < 1 || r.Team != p.Team {
		return RunFile{}, damagedRun(p, fmt.Errorf("not a run file of team %s", p.Team))
	}
	return r, nil
}

// damagedRun says that a run.json is no such file. Nothing of the team is lost with it.
func damagedRun(p Place, err error) error {
	return fmt.Errorf("%s is damaged: %w; covey up writes it anew and goes on with the team", p.RunFile(), err)
}

// Write puts the file into its Place, whole or not at all.
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

// text is what the file holds.
func (r RunFile) text() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return append(data, '\n'), err
}

// Running says whether the team runs now, and what its run.json says. A
// run.json that a crash left behind does not count, even if another process
// has got the pid since. ok is false too if there is no readable run.json.
func Running(p Place) (r RunFile, ok bool) {
	r, err := ReadRunFile(p)
	if err != nil || r.Result != nil || r.PID <= 0 {
		return r, false
	}
	info, err := process.Read(r.PID)
	if err == nil {
		return r, !info.Zombie && info.Birth == r.Birth
	}
	// A process that hides its memory is not shown to its own user where /proc is
	// mounted with hidepid; elsewhere there is no /proc.
	return r, (errors.Is(err, errors.ErrUnsupported) || exists(r.PID)) && LockHeld(p.Lock())
}

// exists reports whether there is a process with a number, shown or not.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// WriteAtomic replaces the file at path, mode 0600: after a crash at any
// moment it holds the old or the new bytes.
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

// newFile is how the names of those begin that are to take the place of the file at path.
func newFile(path string) string { return "." + filepath.Base(path) + "." }

// Sweep removes what writes of run.json have left that a kill cut off before the new
// file took its place. The team's lock must be held: nobody else writes there. What
// cannot be removed is in nobody's way, and its error is for the log.
func Sweep(p Place) error {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return fmt.Errorf("look for what a killed run has left: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), newFile(p.RunFile())) && e.Type().IsRegular() {
			errs = append(errs, os.Remove(filepath.Join(p.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
