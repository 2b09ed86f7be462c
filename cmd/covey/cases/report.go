package cases

import (
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	coveyview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/texts"
)

// Printer prints results for people, a file at a time.
type Printer struct {
	Out     *term.Screen
	Verbose bool

	file    string
	cases   int
	failed  int
	seconds float64
}

// Add prints a result. Results of one file must come after each other.
func (p *Printer) Add(r Result) {
	if r.File != p.file {
		p.End()
		p.file = r.File
	}
	p.cases++
	p.seconds += r.Seconds
	if r.Passed {
		if p.Verbose {
			p.Out.Printf("%s (%s)\n", p.Out.Paint(term.Green, "--- PASS: "+term.PlainLine(r.Name)), took(r.Seconds))
		}
		return
	}
	p.failed++
	p.Out.Printf("%s (%s)\n", p.Out.Paint(term.Red, "--- FAIL: "+term.PlainLine(r.Name)), took(r.Seconds))
	for _, f := range r.Failures {
		p.Out.Printf("    %s\n", term.PlainLine(fmt.Sprintf("%s:%d: %s", r.File, f.Line, f.What)))
		p.rows("expected", f.Expected)
		p.rows("seen", f.Seen)
		p.rows("journal", strings.Join(f.Journal, "\n"))
	}
}

// rows prints a text of several lines beside a word.
func (p *Printer) rows(word, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		p.Out.Printf("        %-9s %s\n", word, term.Plain(line))
		word = ""
	}
}

// End prints the sum of the last file.
func (p *Printer) End() {
	if p.cases == 0 {
		return
	}
	if p.failed > 0 {
		p.Out.Printf("%s  %s  %d of %s failed  %s\n", p.Out.Paint(term.Red, "FAIL"), term.PlainLine(p.file), p.failed,
			texts.Plural(p.cases, "case"), took(p.seconds))
	} else {
		p.Out.Printf("%s    %s  %s  %s\n",
			p.Out.Paint(term.Green, "ok"), term.PlainLine(p.file), texts.Plural(p.cases, "case"), took(p.seconds))
	}
	p.cases, p.failed, p.seconds = 0, 0, 0
}

// took formats a time as `go test` does.
func took(seconds float64) string { return fmt.Sprintf("%.2fs", seconds) }

// PrintCover prints what no case has made rules, hooks and gates do.
func PrintCover(out *term.Screen, list []Covered) {
	whole := 0
	table := &term.Table{Head: []string{"KIND", "NAME", "MISSING", "SPEC"}}
	for _, c := range list {
		if c.Whole() {
			whole++
			continue
		}
		table.Add(term.Cell{Text: c.Kind}, term.Cell{Text: c.Name}, term.Cell{Text: c.Missing()}, term.Cell{Text: c.Spec})
	}
	out.Printf("cover: cases have made %d of %d rules, hooks and gates agree and refuse\n", whole, len(list))
	if whole < len(list) {
		table.Print(out)
	}
}

// TAP returns results in the Test Anything Protocol, version 13.
func TAP(results []Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "TAP version 13\n1..%d\n", len(results))
	for i, r := range results {
		state := "ok"
		if !r.Passed {
			state = "not ok"
		}
		name := strings.ReplaceAll(term.PlainLine(r.File+": "+r.Name), "#", `\#`)
		fmt.Fprintf(&b, "%s %d - %s\n", state, i+1, name)
		if len(r.Failures) > 0 { // JSON is YAML
			fmt.Fprintf(&b, "  ---\n  duration_ms: %d\n  failures: %s\n  ...\n", time.Duration(r.Seconds*float64(time.Second)).Milliseconds(), texts.Encode(r.Failures))
		}
	}
	return b.String()
}

// JUnit returns results as a file of JUnit, with a suite for each file of cases.
func JUnit(results []Result) ([]byte, error) {
	var suites []coveyview.JUnitSuite
	total := 0.0
	for _, r := range results {
		if len(suites) == 0 || suites[len(suites)-1].Name != r.File {
			suites = append(suites, coveyview.JUnitSuite{Name: r.File})
		}
		c := coveyview.JUnitCase{Class: r.File, Name: r.Name, Time: coveyview.JUnitSeconds(r.Seconds)}
		c.Judge(r.Passed, false, "failed", r.text())
		last := &suites[len(suites)-1]
		last.Cases = append(last.Cases, c)
		total += r.Seconds
	}
	return coveyview.JUnit("covey test", total, suites)
}

// text describes the failures of a case.
func (r Result) text() string {
	var parts []string
	for _, f := range r.Failures {
		text := fmt.Sprintf("%s:%d: %s\nexpected  %s\nseen      %s", r.File, f.Line, f.What, f.Expected, f.Seen)
		parts = append(parts, strings.Join(append([]string{text}, f.Journal...), "\n"))
	}
	return strings.Join(parts, "\n\n")
}
