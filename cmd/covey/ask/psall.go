package ask

import (
	"fmt"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/state"
)

// psAll prints all teams of this user, the running ones first. Teams that ended stay
// in the list as long as their state exists.
func psAll(env *cli.Env, asJSON bool) error {
	places, err := state.All()
	if err != nil {
		return err
	}
	var running, others []cli.TeamInfo
	for _, p := range places {
		if env.Team != "" && p.Team != env.Team {
			continue
		}
		if info := cli.InfoOf(p); info.State == cli.TeamRunning {
			running = append(running, info)
		} else {
			others = append(others, info)
		}
	}
	// Within both lists the order is that of All.
	all := append(running, others...)
	if asJSON {
		return env.Out.JSON(append([]cli.TeamInfo{}, all...))
	}
	if len(all) == 0 {
		env.Out.Printf("no teams; covey up starts one\n")
		return nil
	}
	t := term.Table{Head: []string{"TEAM", "STATE", "PROCESS", "STARTED", "RESULT", "WORKSPACE"}}
	for _, info := range all {
		t.Add(teamCells(info)...)
	}
	t.Print(env.Out)
	return nil
}

// teamCells returns the row of a team. For a team that was cut off, the result column
// says what to do. Times are local; JSON has them with their zone.
func teamCells(i cli.TeamInfo) []term.Cell {
	state, started, result := term.Cell{Text: i.State}, "", i.Trouble
	switch i.State {
	case cli.TeamRunning:
		state.Style = term.Green
	case cli.TeamCutOff, cli.TeamDamaged:
		state.Style = term.Yellow
	}
	if !i.Started.IsZero() {
		started = i.Started.Local().Format("2006-01-02 15:04")
	}
	if i.Result != nil {
		result = fmt.Sprintf("%s (code %d)", i.Result.Reason, i.Result.ExitCode)
	}
	return []term.Cell{{Text: i.Team}, state, {Text: count(i.PID)}, {Text: started}, {Text: result},
		{Text: i.Workspace}}
}
