package pages

import (
	"time"

	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/view"
)

// headline is the state of the whole team.
type headline struct {
	Run      view.Run
	Runs     bool   // a process runs the team
	Words    string // its state
	Class    string
	Done     int
	All      int
	Work     api.WorkCounts
	Tokens   int64
	CostUSD  float64
	Turns    events.TurnCount
	Refused  int
	Budget   []budgetRow
	Bus      *events.Bus
	Waits    *view.Wait
	Trouble  string
	Gaps     []view.Gap
	Moved    []view.Note
	Attached int
}

// budgetRow is a limit of the team, and when it would be used up at the pace so far; zero: nobody knows.
type budgetRow struct {
	events.BudgetUse
	Ends time.Time
}

// header is the section of the headline.
func (d *Drawing) header() *Section {
	s := &Section{ID: "team", Class: "team", Title: d.State.Team}
	d.row(s, "headline", "headline", d.headline())
	return s
}

// headline summarizes the team.
func (d *Drawing) headline() headline {
	run, counts := d.State.Run(), d.State.TaskCounts()
	if run.Merge != "" {
		run = d.State.StaffedRun() // covey merge has no goal and no turns
	}
	h := headline{
		Run: run, Runs: d.Now != nil, Done: counts.Completed, All: counts.Total(), Turns: run.Turns,
		Refused: run.Refusals, Waits: d.State.Waits, Trouble: d.Trouble, Moved: d.State.Moved(),
		Work: d.State.WorkCounts(), Bus: termview.BusOf(d.State, d.Now),
	}
	for _, g := range d.State.Gaps {
		if !g.Restart {
			h.Gaps = append(h.Gaps, g)
		}
	}
	for _, m := range d.State.Members {
		h.Tokens, h.CostUSD = h.Tokens+m.Spent.Tokens, h.CostUSD+m.Spent.CostUSD
	}
	uses := d.State.BudgetAt(d.State.Time)
	if d.Now != nil {
		uses, h.Attached = d.Now.Budget, d.Now.Attached
	}
	for _, u := range uses {
		one := budgetRow{BudgetUse: u}
		if d.Now != nil {
			one.Ends = d.State.BudgetEnd(u)
		}
		h.Budget = append(h.Budget, one)
	}
	words, style := termview.TeamWord(d.State, d.Now != nil)
	h.Words, h.Class = words, classOf(style)
	return h
}
