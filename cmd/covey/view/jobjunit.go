package view

import (
	"fmt"

	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// JUnit returns the result as XML of JUnit: a suite with the run, one with its tasks and one with
// its gates. The run is a case of its own, so that no tool takes a team that never began for a
// success. Characters that XML does not have become U+FFFD.
func (r JobResult) JUnit() ([]byte, error) {
	run := JUnitCase{Class: "covey", Name: "team " + r.Team, Time: JUnitSeconds(r.Seconds), Out: r.Answer}
	run.Judge(r.Status == JobDone, r.Status == JobCancelled, string(r.Status), r.Reason)
	suites := []JUnitSuite{{Name: "run", Cases: []JUnitCase{run}}, {Name: "tasks"}, {Name: "gates"}}
	for _, t := range r.Tasks {
		c := JUnitCase{Class: "covey.tasks", Name: t.ID + " " + t.Subject}
		c.Judge(t.Status == string(tasks.Completed), r.Status == JobCancelled, t.Status, t.Why)
		suites[1].Cases = append(suites[1].Cases, c)
	}
	for _, g := range r.Gates {
		c := JUnitCase{Class: "covey.gates." + g.Event, Name: g.Command + " on " + g.subject(), Time: JUnitSeconds(float64(g.Millis) / 1000)}
		if g.Refusals > 0 && g.Verdict == string(view.Agreed) {
			c.Out = fmt.Sprintf("refused %d times before it agreed", g.Refusals)
		}
		refused := g.Verdict == string(view.Refused) || g.Verdict == string(view.Halted)
		c.Judge(g.Verdict == string(view.Agreed), !refused, g.Verdict, g.Reason)
		suites[2].Cases = append(suites[2].Cases, c)
	}
	return JUnit("covey: team "+r.Team, r.Seconds, suites)
}

// subject names what a gate judges.
func (r GateResult) subject() string {
	switch {
	case r.Task != "":
		return "task " + r.Task
	case r.Merge != "":
		return "merge " + r.Merge
	}
	return r.Member
}
