package compare

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/texts"
)

// Report is what the runs of each arm have in common.
type Report struct {
	Arms    []ArmReport `json:"arms"`
	Results []Result    `json:"results"`
	Spent   Used        `json:"spent"`         // by all runs, also those that were cut off
	Missing int         `json:"missing"`       // runs without a result
	Why     string      `json:"why,omitempty"` // why they are missing
}

// ArmReport is what the runs of one arm have in common.
type ArmReport struct {
	Arm      string `json:"arm"`
	Runs     int    `json:"runs"`
	Accepted int    `json:"accepted"`
	// Low and High bound the share of accepted runs: Wilson's interval at 95 %.
	Low  float64 `json:"accepted_low"`
	High float64 `json:"accepted_high"`

	CostUSD       Spread `json:"cost_usd"`
	Tokens        Spread `json:"tokens"`
	Seconds       Spread `json:"seconds"`
	Turns         Spread `json:"turns"`
	EmptyTurns    Spread `json:"empty_turns"`
	Refusals      Spread `json:"refusals"`
	Interventions Spread `json:"interventions"`
	// Least means that agents of the arm did not report all tokens, so that tokens and cost are lower bounds.
	Least bool `json:"tokens_unknown,omitempty"`
}

// Spread is how the values of runs are spread.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarize returns the report of a comparison, with the arms in their order.
func Summarize(arms []string, results []Result) (r Report) {
	r.Arms, r.Results = []ArmReport{}, append([]Result{}, results...)
	for _, arm := range arms {
		a := ArmReport{Arm: arm}
		var values [7][]float64
		for _, one := range results {
			if one.Arm != arm || one.Cut {
				continue
			}
			if a.Runs++; one.Accepted {
				a.Accepted++
			}
			a.Least = a.Least || one.Least
			for i, v := range []float64{
				one.CostUSD, float64(one.Tokens), one.Seconds, float64(one.Turns), float64(one.EmptyTurns),
				float64(one.Refusals), float64(one.Interventions),
			} {
				values[i] = append(values[i], v)
			}
		}
		for i, to := range []*Spread{&a.CostUSD, &a.Tokens, &a.Seconds, &a.Turns, &a.EmptyTurns, &a.Refusals, &a.Interventions} {
			*to = spreadOf(values[i])
		}
		a.Low, a.High = wilson(a.Accepted, a.Runs)
		r.Arms = append(r.Arms, a)
	}
	return r
}

// spreadOf returns the spread of values.
func spreadOf(values []float64) (s Spread) {
	if len(values) == 0 {
		return s
	}
	slices.Sort(values)
	mid := len(values) / 2
	s = Spread{Median: values[mid], Min: values[0], Max: values[len(values)-1]}
	if len(values)%2 == 0 {
		s.Median = (values[mid-1] + values[mid]) / 2
	}
	return s
}

// wilson returns Wilson's interval at 95 % for a share of which k of n were seen.
func wilson(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.96
	count, share := float64(n), float64(k)/float64(n)
	scale := 1 + z*z/count
	mid, off := share+z*z/(2*count), z*math.Sqrt(share*(1-share)/count+z*z/(4*count*count))
	return max(0, (mid-off)/scale), min(1, (mid+off)/scale)
}

// column is a column of the table.
type column struct {
	head string
	cell func(ArmReport) string
}

// columns returns the columns of the table.
func columns() []column {
	spread := func(of func(ArmReport) Spread, form func(float64) string) func(ArmReport) string {
		return func(a ArmReport) string {
			s := of(a)
			switch {
			case a.Runs == 0:
				return ""
			case s.Min == s.Max:
				return form(s.Median)
			}
			return fmt.Sprintf("%s (%s to %s)", form(s.Median), form(s.Min), form(s.Max))
		}
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	least := func(cell func(ArmReport) string) func(ArmReport) string {
		return func(a ArmReport) string {
			if a.Least {
				return "≥ " + cell(a)
			}
			return cell(a)
		}
	}
	return []column{
		{"ARM", func(a ArmReport) string { return a.Arm }},
		{"ACCEPTED", func(a ArmReport) string {
			return fmt.Sprintf("%d of %d (%.0f to %.0f %%)", a.Accepted, a.Runs, 100*a.Low, 100*a.High)
		}},
		{"COST", least(spread(func(a ArmReport) Spread { return a.CostUSD }, func(v float64) string { return fmt.Sprintf("$%.2f", v) }))},
		{"TOKENS", least(spread(func(a ArmReport) Spread { return a.Tokens }, number))},
		{"TIME", spread(func(a ArmReport) Spread { return a.Seconds }, func(v float64) string { return fmt.Sprintf("%.1fs", v) })},
		{"TURNS", spread(func(a ArmReport) Spread { return a.Turns }, number)},
		{"EMPTY", spread(func(a ArmReport) Spread { return a.EmptyTurns }, number)},
		{"REFUSALS", spread(func(a ArmReport) Spread { return a.Refusals }, number)},
		{"INTERVENTIONS", spread(func(a ArmReport) Spread { return a.Interventions }, number)},
	}
}

// legend explains the table.
const legend = "medians, with the least and the most; accepted: with the interval of the share at 95 % (Wilson)"

// notes returns what the table does not say.
func (r Report) notes() (list []string) {
	list = append(list, legend, fmt.Sprintf("spent: $%.2f, %d tokens, %.1fs", r.Spent.CostUSD, r.Spent.Tokens, r.Spent.Seconds))
	if r.Missing > 0 {
		list = append(list, fmt.Sprintf("not complete: %s missing: %s", texts.Plural(r.Missing, "run"), r.Why))
	}
	return list
}

// Print prints the report for people.
func (r Report) Print(out *term.Screen) {
	var list []term.Column[ArmReport]
	for _, c := range columns() {
		list = append(list, term.Text(c.head, c.cell))
	}
	table := term.TableOf(r.Arms, list...)
	table.Whole = true
	table.Print(out)
	for _, note := range r.notes() {
		out.Line(term.Faint, note)
	}
}

//go:embed report.html
var page string

// HTML returns the report as a page that needs nothing else.
func (r Report) HTML() ([]byte, error) {
	parsed, err := template.New("report").Parse(page)
	if err != nil {
		return nil, err
	}
	data := struct {
		Report
		Heads []string
		Rows  [][]string
		Notes []string
	}{Report: r, Notes: r.notes()}
	for _, c := range columns() {
		data.Heads = append(data.Heads, c.head)
	}
	for _, a := range r.Arms {
		var row []string
		for _, c := range columns() {
			row = append(row, c.cell(a))
		}
		data.Rows = append(data.Rows, row)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, data); err != nil {
		return nil, err
	}
	return []byte(text.String()), nil
}
