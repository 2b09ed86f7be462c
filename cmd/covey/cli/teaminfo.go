package cli

import (
	"errors"
	"io/fs"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
)

// TeamInfo is one team in `covey ps --all`. It comes from run.json alone, so that a
// process that hangs cannot block the list.
type TeamInfo struct {
	Team      string           `json:"team"`
	Workspace string           `json:"workspace"`
	State     string           `json:"state"` // running, ended, cut off, damaged, or never ran
	PID       int              `json:"pid,omitempty"`
	Started   time.Time        `json:"started,omitzero"`
	Result    *state.RunResult `json:"result,omitempty"`
	Dir       string           `json:"dir"` // where its state is
	Trouble   string           `json:"trouble,omitempty"`
}

// The states of a TeamInfo.
const (
	TeamRunning  = "running"
	TeamEnded    = "ended"
	TeamCutOff   = "cut off"
	TeamDamaged  = "damaged" // its run.json cannot be read
	TeamNeverRan = "never ran"
)

// InfoOf reads a team's run.json; it asks no process. A run.json that says "running"
// counts only if that process is alive.
func InfoOf(p state.Place) TeamInfo {
	info := TeamInfo{Team: p.Team, Workspace: p.Workspace, Dir: p.Dir, State: TeamNeverRan}
	run, up := state.Running(p)
	switch _, err := state.ReadRunFile(p); {
	case errors.Is(err, fs.ErrNotExist):
		return info
	case err != nil:
		info.State, info.Trouble = TeamDamaged, err.Error()
		return info
	}
	if !up {
		run = run.LastRun()
	}
	info.Started, info.Result = run.Started, run.Result
	switch {
	case up:
		info.State, info.PID = TeamRunning, run.PID
	case run.Result != nil:
		info.State = TeamEnded
	default:
		info.State = TeamCutOff
		info.Trouble = "its process has disappeared; covey up resumes it"
	}
	return info
}
