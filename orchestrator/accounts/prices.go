package accounts

import (
	_ "embed" // for the price file
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/agent"
)

//go:embed prices.yaml
var shippedPrices []byte

// Limits of what a price file says.
const (
	maxPrice   = 100_000 // US dollars per million tokens; more is a typing mistake
	maxContext = 1e9     // tokens; more is a typing mistake
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

// LoadPrices reads the prices of a team: from its own file, that of its policy, and covey's. Where a policy
// bounds dollars, its own file must have no price.
func LoadPrices(b configs.Budget) (PriceList, error) {
	shipped, err := ShippedPrices()
	list := PriceList{shipped}
	add := func(path string, data []byte, failed error) {
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("read budget.prices: %s: %w", path, failed))
			return
		}
		f, wrong := parsePrices(path, data)
		f.File = path
		list, err = append(PriceList{f}, list...), errors.Join(err, wrong)
	}
	if b.PolicyPrices != (configs.PolicyRef{}) {
		data, failed := b.PolicyPrices.Read()
		add(b.PolicyPrices.Where, data, failed)
	}
	if b.Prices != "" {
		data, failed := texts.ReadFile(b.Prices, yaml.MaxSize)
		add(b.Prices, data, failed)
		if i := slices.IndexFunc(list[0].rows, func(r priceRow) bool { return r.priced }); i >= 0 && b.PricedBy != "" && failed == nil {
			err = errors.Join(err, texts.Errorf(configs.ErrSpec, "%s:%d: a price of %s, and the policy has dollars counted without prices of the spec (%s); "+
				"leave only its context, and have the policy's budget.prices name a price", b.Prices, list[0].rows[i].line, list[0].rows[i].Model, b.PricedBy))
		}
	}
	return list, err
}

// priceRow is one line of a price file.
type priceRow struct {
	Model   string
	Context int64 // what the model can read, in tokens; 0: the row does not say
	priced  bool  // it has a price
	line    int   // in its file
	price
}

// priceText is a price file as it is written.
type priceText struct {
	version      yaml.Value[int]
	date, source yaml.Value[string]
	rows         yaml.List[rowText]
}

// rowText is a row as it is written.
type rowText struct {
	at                                   *yaml.Node
	model                                yaml.Value[string]
	input, output, cacheRead, cacheWrite yaml.Value[float64]
	context                              yaml.Value[int64]
}

func (t *priceText) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "covey_prices", Part: yaml.Whole(&t.version), Need: true},
		{Key: "date", Part: yaml.Text(&t.date), Need: true},
		{Key: "source", Part: yaml.AnyText(&t.source)},
		{Key: "prices", Part: yaml.ListOf(&t.rows, "a list of models, such as [{model: openai/gpt-5*, input: 1.25, output: 10}]",
			func(r *rowText) yaml.Part { return yaml.Object(&r.at, r.fields()) }), Need: true},
	}
}

func (r *rowText) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "model", Part: yaml.Text(&r.model), Need: true},
		{Key: "input", Part: yaml.Amount(&r.input)},
		{Key: "output", Part: yaml.Amount(&r.output)},
		{Key: "cache_read", Part: yaml.Amount(&r.cacheRead)},
		{Key: "cache_write", Part: yaml.Amount(&r.cacheWrite)},
		{Key: "context", Part: yaml.WholeFrom[int64](1, maxContext)(&r.context)},
	}
}

// row checks a row and returns its value.
func (r *rowText) row(d *yaml.Decoder) priceRow {
	model := strings.TrimSpace(r.model.V)
	if provider, name, ok := strings.Cut(model, "/"); r.model.Given() && (!ok || provider == "" || name == "") {
		d.Fail(r.model.At.At, "model is %q; write provider/model, such as anthropic/claude-sonnet-4*", r.model.V)
	}
	for _, v := range []yaml.Value[float64]{r.input, r.output, r.cacheRead, r.cacheWrite} {
		if v.V > maxPrice {
			d.Fail(v.At.At, "a price of %v; write US dollars for a million tokens, at most %d", v.V, maxPrice)
		}
	}
	// A model without a price, such as a local one, has only a context.
	if priced := r.input.Given() || r.output.Given(); !r.at.Broken && (priced || !r.context.Given()) && !(r.input.Given() && r.output.Given()) {
		d.Fail(r.at.At, "input and output are both needed; write US dollars for a million tokens")
	}
	return priceRow{Model: model, Context: r.context.V, priced: r.input.Given(), line: r.at.At.Line, price: price{
		Input: r.input.V, Output: r.output.V, CacheRead: r.cacheRead.Or(r.input.V), CacheWrite: r.cacheWrite.Or(r.input.V),
	}}
}

// parsePrices reads a price file. Its error lists all mistakes, with their places and what to do.
func parsePrices(name string, data []byte) (PriceFile, error) {
	d := &yaml.Decoder{Document: yaml.ParseAs(yaml.Form{
		Name: "price file", MaxSize: yaml.MaxSize, MaxKeys: 20_000, MaxDepth: 8, InsteadOfMerge: "write the keys out",
		IfEmpty: "write `covey_prices: 1`, a date and prices", IfLarge: "leave out models that the team does not use",
	}, name, data)}
	var text priceText
	if d.Root != nil {
		d.Object(&yaml.Node{Text: "the price file"}, d.Root, text.fields())
	}
	if text.version.Given() && text.version.V != 1 {
		d.Fail(text.version.At.At, "no price file that covey can read; write covey_prices: 1")
	}
	f := PriceFile{Source: text.source.V, Models: len(text.rows.Items)}
	var err error
	if f.Date, err = time.Parse(time.DateOnly, text.date.V); err != nil && text.date.V != "" {
		d.Fail(text.date.At.At, "date is %q; write the day for which the prices hold, such as 2026-05-05", text.date.V)
	}
	if text.rows.Given() && f.Models == 0 {
		d.Fail(text.rows.At.At, "no prices; write prices: [{model: openai/gpt-5*, input: 1.25, output: 10}]")
	}
	seen := map[string]*yaml.Node{}
	for i := range text.rows.Items {
		r := &text.rows.Items[i]
		if r.at == nil {
			continue // no mapping
		}
		row := r.row(d)
		if first := seen[row.Model]; first != nil && row.Model != "" {
			d.Fail(r.at.At, "%s stands at %d:%d already; leave one of them out", row.Model, first.At.Line, first.At.Col)
		}
		seen[row.Model] = r.at
		f.rows = append(f.rows, row)
	}
	if len(d.Problems) > 0 {
		return PriceFile{}, yaml.Errors(yaml.SortProblems(d.Problems))
	}
	return f, nil
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
			errs = append(errs, texts.Errorf(configs.ErrSpec, "%s", noPrice(setting, whose, name, tokens)))
		}
	}
	var all []string // the names of the whole team
	for m := range team.EachAndTemplates() {
		var names []string
		for _, a := range team.AgentsOf(*m) {
			if !m.Gateway.On || a.Kind == configs.Builtin { // the gateway refuses requests to models without a price
				names = append(names, l.unpriced(team, a)...)
			}
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

// noPrice says that a limit in dollars cannot hold for a model, and the way out.
func noPrice(setting, whose, model, tokens string) string {
	return fmt.Sprintf("%s%s cannot hold, because %s has no price: give it one in the file that budget.prices names "+
		"(`{model: %[3]q, input: 1.25, output: 10}`; 0 if it costs nothing), or limit tokens instead, with %s", setting, whose, model, tokens)
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
