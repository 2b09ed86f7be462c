package teamtest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/view"
)

// Fold folds a whole journal.
func Fold(path string) (*view.State, error) {
	state := &view.State{}
	for l, err := range journal.Read(path, 0) {
		if err != nil {
			return nil, err
		}
		state.Apply(l.Event())
	}
	return state, nil
}

// Differences compares what `covey ps` shows with a State, a difference a line. What only a
// running team knows, such as its schedules and working copies, is left out.
func Differences(shown api.Status, state *view.State) string {
	var list []string
	same := func(what string, ps, folded any) {
		if a, b := fmt.Sprint(ps), fmt.Sprint(folded); a != b {
			list = append(list, fmt.Sprintf("%s: ps %s, journal %s", what, a, b))
		}
	}
	same("team", shown.Team, state.Team)
	same("goal", shown.Goal, state.Run().Goal)
	same("workspace", shown.Workspace, state.StaffedRun().Workspace)
	same("spec", shown.Spec, state.StaffedRun().Spec)
	same("tasks", shown.Tasks, state.TaskCounts())
	same("turns", shown.Turns, state.StaffedRun().Turns)
	if shown.PID > 0 {
		open := 0
		for _, r := range state.Requests {
			if r.Open() && r.To == "operator" {
				open++
			}
		}
		same("requests", shown.Requests, open)
		same("seq", shown.Seq, state.Seq)
		spent := state.Coordination
		spent.Estimated, spent.Finished = true, shown.Coordination.Finished
		same("coordination", *shown.Coordination, spent)
	}
	same("failed open", shown.FailOpen, state.Hooks().FailedOpen())
	folded := state.Statuses()
	if len(folded) != len(shown.Members) {
		return strings.Join(append(list, fmt.Sprintf("%d members, %d in the journal", len(shown.Members), len(folded))), "\n")
	}
	for i, ps := range shown.Members {
		m, rested := state.Member(ps.Name), folded[i]
		same(ps.Name, rested.Name, ps.Name)
		of := func(what string, ps, folded any) { same(shown.Members[i].Name+": "+what, ps, folded) }
		of("lead", ps.Lead, m.Lead)
		of("agent", ps.Agent, m.Agent)
		if shown.PID > 0 {
			of("state", ps.State, m.State)
			of("held", ps.Held, m.Held != nil)
			of("attention", ps.Attention, cmp.Or(m.Gone, m.Attention))
			of("pass", ps.Pass, m.Pass)
			of("cost", fmt.Sprintf("%.6f", ps.CostUSD), fmt.Sprintf("%.6f", m.Spent.CostUSD))
			of("waits", ps.State == api.Waiting, m.State == api.Waiting && (m.WaitsFor != "" || m.Lockout != nil))
		} else if ps.State != api.Held {
			of("state", ps.State, rested.State)
			of("attention", ps.Attention, rested.Attention)
		}
		of("turn", ps.Turn, rested.Turn)
		of("counts", ps.Counts, rested.Counts)
		of("hooks", ps.Hooks, rested.Hooks)
		of("failed open", ps.FailedOpen, rested.FailedOpen)
		of("limited until", ps.LimitedUntil.Equal(rested.LimitedUntil), true)
		of("unread", ps.Unread, m.Unread)
		task := ""
		if len(m.InProgress) > 0 {
			task = m.InProgress[0]
		}
		of("task", ps.Task, task)
	}
	return strings.Join(list, "\n")
}
