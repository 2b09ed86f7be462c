package view

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// junitSuites is the root of a file of JUnit. Only what GitHub, GitLab and Jenkins all read is used.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []JUnitSuite `xml:"testsuite"`
}

// JUnitSuite is a list of cases of a file of JUnit.
type JUnitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []JUnitCase `xml:"testcase"`
}

// JUnitCase passes unless it has Failure or Skipped.
type JUnitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr,omitempty"`
	Failure *JUnitFault `xml:"failure"`
	Skipped *JUnitFault `xml:"skipped"`
	Out     string      `xml:"system-out,omitempty"`
}

// JUnitFault describes why a case did not pass: in a line, and whole if that is more.
type JUnitFault struct {
	Message string `xml:"message,attr"`
	Kind    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit returns a file of JUnit with some suites. Characters that XML does not have become U+FFFD.
func JUnit(name string, seconds float64, suites []JUnitSuite) ([]byte, error) {
	root := junitSuites{Name: name, Time: JUnitSeconds(seconds), Suites: suites}
	for i := range root.Suites {
		root.count(&root.Suites[i])
	}
	text, err := xml.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make the JUnit file: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

// Judge sets the result of a case: it passed, it was not decided, or it failed. why may have several lines.
func (c *JUnitCase) Judge(passed, undecided bool, kind, why string) {
	brief := texts.OneLine(why)
	fault := &JUnitFault{Message: strings.TrimSuffix(kind+": "+brief, ": "), Kind: kind}
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
func (s *junitSuites) count(one *JUnitSuite) {
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

// JUnitSeconds formats a time as JUnit does.
func JUnitSeconds(s float64) string { return fmt.Sprintf("%.3f", s) }
