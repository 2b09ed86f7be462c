package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/coveyteam/covey/orchestrator"
)

// teamInfo is one team in `covey ps --all`. It is made from run.json alone, so
// that a process that hangs cannot make the list hang.
type teamInfo struct {
	Team      string                  `json:"team"`
	Workspace string                  `json:"workspace"`
	State     string                  `json:"state"` // running, ended, cut off, damaged, or never ran
	PID       int                     `json:"pid,omitempty"`
	Started   time.Time               `json:"started,omitzero"`
	Result    *orchestrator.RunResult `json:"result,omitempty"`
	Dir       string                  `json:"dir"` // where its state is
	Trouble   string                  `json:"trouble,omitempty"`
}

// The states of a teamInfo.
const (
	teamRunning  = "running"
	teamEnded    = "ended"
	teamCutOff   = "cut off"
	teamDamaged  = "damaged" // its run.json cannot be read
	teamNeverRan = "never ran"
)

// infoOf looks at a team's run.json; it asks no process. A run.json that says
// "running" is believed only if that very process is alive.
func infoOf(p orchestrator.Place) teamInfo {
	info := teamInfo{Team: p.Team, Workspace: p.Workspace, Dir: p.Dir, State: teamNeverRan}
	run, up := orchestrator.Running(p)
	switch _, err := orchestrator.ReadRunFile(p); {
	case errors.Is(err, fs.ErrNotExist):
		return info
	case err != nil:
		info.State, info.Trouble = teamDamaged, err.Error()
		return info
	}
	if !up {
		run = run.LastRun()
	}
	info.Started, info.Result = run.Started, run.Result
	switch {
	case up:
		info.State, info.PID = teamRunning, run.PID
	case run.Result != nil:
		info.State = teamEnded
	default:
		info.State = teamCutOff
		info.Trouble = "its process is gone without an end; covey up takes it up again"
	}
	return info
}

// psAll prints all teams of this user, the running ones first. Teams that ended
// stay in the list as long as their state is there.
func (c *cli) psAll(asJSON bool) error {
	places, err := orchestrator.All()
	if err != nil {
		return err
	}
	var running, others []teamInfo
	for _, p := range places {
		if c.team != "" && p.Team != c.team {
			continue
		}
		if info := infoOf(p); info.State == teamRunning {
			running = append(running, info)
		} else {
			others = append(others, info)
		}
	}
	// Within each of the two the order is that of All.
	all := append(running, others...)
	if asJSON {
		return c.out.json(append([]teamInfo{}, all...))
	}
	if len(all) == 0 {
		c.out.printf("no teams; covey up starts one\n")
		return nil
	}
	t := table{head: []string{"TEAM", "STATE", "PROCESS", "STARTED", "RESULT", "WORKSPACE"}}
	for _, info := range all {
		t.add(info.cells()...)
	}
	t.print(c.out)
	return nil
}

// cells are the row of a team. Of a team that was cut off the result column
// tells what can be done. The time is that of the person who looks; JSON has it
// with its zone.
func (i teamInfo) cells() []cell {
	state, started, result := cell{text: i.State}, "", i.Trouble
	switch i.State {
	case teamRunning:
		state.style = green
	case teamCutOff, teamDamaged:
		state.style = yellow
	}
	if !i.Started.IsZero() {
		started = i.Started.Local().Format("2006-01-02 15:04")
	}
	if i.Result != nil {
		result = fmt.Sprintf("%s (code %d)", i.Result.Reason, i.Result.ExitCode)
	}
	return []cell{{text: i.Team}, state, {text: count(i.PID)}, {text: started}, {text: result}, {text: i.Workspace}}
}
