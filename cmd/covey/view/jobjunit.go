package view

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// junitSuites is the root of a file of JUnit. Only what GitHub, GitLab and Jenkins all read is used.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

// junitSuite is the run, its tasks or its gates.
type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// junitCase passes unless it has Failure or Skipped.
type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr,omitempty"`
	Failure *junitFault `xml:"failure"`
	Skipped *junitFault `xml:"skipped"`
	Out     string      `xml:"system-out,omitempty"`
}

// junitFault describes why a case did not pass: in a line, and whole if that is more.
type junitFault struct {
	Message string `xml:"message,attr"`
	Kind    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit returns the result as XML of JUnit: a suite with the run, one with its tasks and one with
// its gates. The run is a case of its own, so that no tool takes a team that never began for a
// success. Characters that XML does not have become U+FFFD.
func (r JobResult) JUnit() ([]byte, error) {
	run := junitCase{Class: "covey", Name: "team " + r.Team, Time: seconds(r.Seconds), Out: r.Answer}
	run.judge(r.Status == JobDone, r.Status == JobCancelled, string(r.Status), r.Reason)
	suites := []junitSuite{{Name: "run", Cases: []junitCase{run}}, {Name: "tasks"}, {Name: "gates"}}
	for _, t := range r.Tasks {
		c := junitCase{Class: "covey.tasks", Name: t.ID + " " + t.Subject}
		c.judge(t.Status == string(tasks.Completed), r.Status == JobCancelled, t.Status, t.Why)
		suites[1].Cases = append(suites[1].Cases, c)
	}
	for _, g := range r.Gates {
		c := junitCase{Class: "covey.gates." + g.Event, Name: g.Command + " on " + g.subject(), Time: seconds(float64(g.Millis) / 1000)}
		if g.Refusals > 0 && g.Verdict == string(view.Agreed) {
			c.Out = fmt.Sprintf("refused %d times before it agreed", g.Refusals)
		}
		refused := g.Verdict == string(view.Refused) || g.Verdict == string(view.Halted)
		c.judge(g.Verdict == string(view.Agreed), !refused, g.Verdict, g.Reason)
		suites[2].Cases = append(suites[2].Cases, c)
	}
	root := junitSuites{Name: "covey: team " + r.Team, Time: seconds(r.Seconds), Suites: suites}
	for i := range root.Suites {
		root.count(&root.Suites[i])
	}
	text, err := xml.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make the JUnit file: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
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

// judge notes the result of a case: it passed, it was not decided, or it failed.
func (c *junitCase) judge(passed, undecided bool, kind, why string) {
	brief := texts.OneLine(why)
	fault := &junitFault{Message: strings.TrimSuffix(kind+": "+brief, ": "), Kind: kind}
	if brief != why {
		fault.Text = why
	}
	switch {
	case passed:
	case undecided:
		fault.Kind = "" // a skipped case has none
		c.Skipped = fault
	default:
		c.Failure = fault
	}
}

// count counts the cases of a suite, for itself and for the root.
func (s *junitSuites) count(one *junitSuite) {
	for _, c := range one.Cases {
		one.Tests++
		switch {
		case c.Failure != nil:
			one.Failures++
		case c.Skipped != nil:
			one.Skipped++
		}
	}
	s.Tests, s.Failures, s.Skipped = s.Tests+one.Tests, s.Failures+one.Failures, s.Skipped+one.Skipped
}

// seconds formats a time as JUnit does.
func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
