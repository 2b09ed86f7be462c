package accounts

import (
	_ "embed" // for the price file
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/agent"
)

//go:embed prices.yaml
var shippedPrices []byte

// Limits of a price file.
const (
	maxPriceFile = 128 << 10 // bytes
	maxPrice     = 100_000   // US dollars per million tokens; more is a typing mistake
	maxContext   = 1e9       // tokens; more is a typing mistake
)

// oldPrices is the age at which people are warned of a price file, because vendors change
// their prices a few times a year.
const oldPrices = 270 * 24 * time.Hour

// PriceFile is the prices of models on a day.
type PriceFile struct {
	File   string    `json:"file"` // empty for the file that ships with covey
	Date   time.Time `json:"date"` // the day for which its prices hold
	Source string    `json:"source,omitempty"`
	Models int       `json:"models"` // number of patterns

	rows []priceRow
}

// Old reports whether the prices should be checked.
func (f PriceFile) Old(now time.Time) bool { return now.Sub(f.Date) > oldPrices }

// price is the price of a million tokens, in US dollars.
type price struct {
	Input, Output         float64
	CacheRead, CacheWrite float64 // of tokens that are part of the input
}

// of returns the cost of tokens.
func (p price) of(u agent.Usage) float64 {
	plain := u.InputTokens - u.CacheReadTokens - u.CacheWriteTokens
	return (float64(max(plain, 0))*p.Input + float64(u.OutputTokens)*p.Output +
		float64(u.CacheReadTokens)*p.CacheRead + float64(u.CacheWriteTokens)*p.CacheWrite) / 1e6
}

// PriceList is the prices of several files; the first pattern that matches counts.
type PriceList []PriceFile

// find returns the price of a model by its name with the provider as prefix.
func (l PriceList) find(model string) (price, bool) {
	r := l.row(model, func(r priceRow) bool { return r.priced })
	return r.price, r.priced
}

// Window returns how many tokens a model can read in one request; 0 if that is unknown.
func (l PriceList) Window(model string) int64 {
	return l.row(model, func(r priceRow) bool { return r.Context > 0 }).Context
}

// row returns the first row for a model that has what is wanted; the zero row if there is none.
func (l PriceList) row(model string, has func(priceRow) bool) priceRow {
	for _, f := range l {
		for _, r := range f.rows {
			if model != "" && has(r) && texts.Wild(r.Model, model) {
				return r
			}
		}
	}
	return priceRow{}
}

// Of returns the price of a million tokens of a model in US dollars, by its name with the
// provider as prefix; known is false for a model without a price.
func (l PriceList) Of(model string) (input, output float64, known bool) {
	p, known := l.find(model)
	return p.Input, p.Output, known
}

// ShippedPrices returns the prices that ship with covey.
func ShippedPrices() (PriceFile, error) { return parseShipped() }

var parseShipped = sync.OnceValues(func() (PriceFile, error) {
	return parsePrices("prices.yaml of covey", shippedPrices)
})

// LoadPrices reads the prices of a team: from its own file if path is not empty, and covey's.
func LoadPrices(path string) (PriceList, error) {
	shipped, err := ShippedPrices()
	if err != nil || path == "" {
		return PriceList{shipped}, err
	}
	data, err := texts.ReadFile(path, maxPriceFile)
	if err != nil {
		return nil, fmt.Errorf("read budget.prices: %s: %w", path, err)
	}
	own, err := parsePrices(path, data)
	own.File = path
	return PriceList{own, shipped}, err
}

// priceText is a price file as it is written.
type priceText struct {
	Version *int       `yaml:"covey_prices"`
	Date    string     `yaml:"date"`
	Source  string     `yaml:"source"`
	Prices  []priceRow `yaml:"prices"`
}

// priceRow is one line of it.
type priceRow struct {
	Model   string
	Context int64 // what the model can read, in tokens; 0: the row does not say
	priced  bool  // it has a price
	price
	at       string // line:col
	problems []string
}

// UnmarshalYAML reads a row with its place, and what is wrong with it.
func (r *priceRow) UnmarshalYAML(n ast.Node) error {
	var text struct {
		Model      string   `yaml:"model"`
		Input      *float64 `yaml:"input"`
		Output     *float64 `yaml:"output"`
		CacheRead  *float64 `yaml:"cache_read"`
		CacheWrite *float64 `yaml:"cache_write"`
		Context    *int64   `yaml:"context"`
	}
	if err := yaml.NodeToValue(n, &text, yaml.Strict()); err != nil {
		return err
	}
	pos := n.GetToken().Position
	r.at = fmt.Sprintf("%d:%d", pos.Line, pos.Column)
	r.Model = strings.TrimSpace(text.Model)
	if provider, model, ok := strings.Cut(r.Model, "/"); !ok || provider == "" || model == "" {
		r.problems = append(r.problems, fmt.Sprintf("model is %q; write provider/model, such as anthropic/claude-sonnet-4*",
			text.Model))
	}
	if text.Context != nil {
		if r.Context = *text.Context; r.Context < 1 || r.Context > maxContext {
			r.problems = append(r.problems, fmt.Sprintf("context is %d; write how many tokens the model can read, up to %d",
				r.Context, int64(maxContext)))
		}
		if text.Input == nil && text.Output == nil {
			return nil // a model without a price, such as a local one
		}
	}
	r.priced = true
	r.Input = r.amount("input", text.Input, nil)
	r.Output = r.amount("output", text.Output, nil)
	r.CacheRead = r.amount("cache_read", text.CacheRead, &r.Input)
	r.CacheWrite = r.amount("cache_write", text.CacheWrite, &r.Input)
	return nil
}

// amount returns one price of a row, or its default.
func (r *priceRow) amount(key string, v, otherwise *float64) float64 {
	switch {
	case v == nil && otherwise != nil:
		return *otherwise
	case v == nil:
		r.problems = append(r.problems, key+" is missing; write US dollars for a million tokens")
	case math.IsNaN(*v) || *v < 0 || *v > maxPrice:
		r.problems = append(r.problems, fmt.Sprintf("%s is %v; write US dollars for a million tokens, from 0 to %d",
			key, *v, maxPrice))
	default:
		return *v
	}
	return 0
}

// parsePrices reads a price file. Its error has one line per mistake, with the position and
// what to do.
func parsePrices(name string, data []byte) (PriceFile, error) {
	var text priceText
	if err := yaml.UnmarshalWithOptions(data, &text, yaml.Strict()); err != nil {
		return PriceFile{}, priceError(name, err)
	}
	var errs []error
	wrong := func(at, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%s: %s", name, at, fmt.Sprintf(format, args...)))
	}
	if text.Version == nil || *text.Version != 1 {
		wrong("1:1", "no price file that covey can read; write `covey_prices: 1`")
	}
	date, err := time.Parse(time.DateOnly, text.Date)
	if err != nil {
		wrong("1:1", "date is %q; write the day for which the prices hold, such as 2026-05-05", text.Date)
	}
	if len(text.Prices) == 0 {
		wrong("1:1", "no prices; write `prices: [{model: openai/gpt-5*, input: 1.25, output: 10}]`")
	}
	seen := map[string]string{}
	for _, r := range text.Prices {
		for _, p := range r.problems {
			wrong(r.at, "%s", p)
		}
		if first, ok := seen[r.Model]; ok {
			wrong(r.at, "%s stands at %s already; leave one of them out", r.Model, first)
		}
		seen[r.Model] = r.at
	}
	f := PriceFile{Date: date, Source: text.Source, Models: len(text.Prices), rows: text.Prices}
	return f, errors.Join(errs...)
}

// priceError returns the parser's error on one line.
func priceError(name string, err error) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return fmt.Errorf("%s: %s", name, texts.OneLine(err.Error()))
	}
	pos := e.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s; the keys are covey_prices, date, source and prices, and of a price model, input, "+
		"output, cache_read, cache_write and context", name, pos.Line, pos.Column, texts.OneLine(e.GetMessage()))
}

// subscribed reports whether an agent uses a login of the user. A subscription pays for its
// tokens.
func subscribed(a configs.Agent) bool {
	return (a.Kind == configs.ACP || a.Kind == configs.Command) && a.Auth == configs.Login && a.Model.Script == ""
}

// pricedAs returns the name under which the prices of a member's model are found. For an agent
// program this is its preset or program name, because covey cannot see its model. An agent on
// a subscription has no price.
func pricedAs(a configs.Agent) string {
	switch a.Kind {
	case configs.ACP, configs.Command:
		if subscribed(a) {
			return ""
		}
		return members.ProgramName(a) + "/" + a.Model.Name
	case configs.Given:
		return string(configs.Given) + "/" + a.Name
	}
	return a.Model.FullName()
}

// CheckPrices refuses a limit in dollars for a model whose cost nobody can know: no price file has
// it, and no program tells it. A program that covey does not know may tell it, and only a run shows
// the models of a given agent; unknown warns of those. A script costs nothing.
func (l PriceList) CheckPrices(team *configs.Team) error {
	var errs []error
	refuse := func(setting, whose, tokens string, names []string) {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
			errs = append(errs, texts.Errorf(configs.ErrSpec, "%s%s cannot hold, because %s has no price: give it one in "+
				"the file that budget.prices names (`{model: %[3]q, input: 1.25, output: 10}`; 0 if it costs nothing), "+
				"or limit tokens instead, with %s", setting, whose, name, tokens))
		}
	}
	var all []string // the names of the whole team
	for _, m := range team.Members() {
		var names []string
		for _, a := range team.AgentsOf(m) {
			names = append(names, l.unpriced(team, a)...)
		}
		if m.Limits.MaxBudgetUSD > 0 {
			refuse("limits.max_budget_usd", " of "+m.Name, "limits.max_tokens", names)
		}
		all = append(all, names...)
	}
	if team.Budget.USD > 0 {
		refuse("budget.usd", "", "budget.tokens", all)
	}
	return errors.Join(errs...)
}

// unpriced returns the names, as in a price file, of an agent's models whose cost nobody can know.
func (l PriceList) unpriced(team *configs.Team, a configs.Agent) []string {
	var names []string
	switch {
	case a.Kind == configs.Builtin:
		for _, m := range append([]configs.Model{a.Model}, team.Fallbacks(a.Model)...) {
			if m.Script == "" {
				names = append(names, m.FullName())
			}
		}
	case a.Model.Script == "" && !subscribed(a) && a.Preset != "" && !a.Preset.ReportsCost():
		names = append(names, pricedAs(a)+"*") // a model that the program chooses has no name here
	}
	return slices.DeleteFunc(names, func(name string) bool {
		_, priced := l.find(name)
		return priced
	})
}
