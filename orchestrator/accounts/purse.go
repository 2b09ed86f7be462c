package accounts

import (
	"cmp"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Purse is a member's view of the ledger. It implements [agent.Purse].
type Purse struct {
	l      *Ledger
	member string
}

// Purse returns the purse of a member.
func (l *Ledger) Purse(member string) Purse { return Purse{l, member} }

// Price returns the cost of a model's tokens by covey's prices; model may be empty.
func (p Purse) Price(u agent.Usage, model string) float64 {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	a := p.l.accounts[p.member]
	if a == nil {
		return 0
	}
	price, _ := p.l.prices.find(cmp.Or(model, a.model))
	return price.of(u)
}

// Spend counts tokens.
func (p Purse) Spend(u agent.Usage, usd float64) {
	p.l.spend(p.member, func(a *account) {
		a.usage, a.priced = a.usage.Plus(u), a.priced+usd
		a.live = a.live.Less(u) // AddLive has counted them before
		a.largest = a.largest.Max(u.Total(), usd)
	})
}

// Total returns what the member has used in all its lives.
func (p Purse) Total() (u agent.Usage, usd float64) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if a := p.l.accounts[p.member]; a != nil {
		u, usd = a.usage, a.usd()
	}
	return u, usd
}

// Left returns an error if a limit is used up. It grants the member a few passes to hand over out of
// what is kept for that, and its helpers none.
func (p Purse) Left(helper bool) error {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	over, ok := p.l.over(p.member)
	a := p.l.accounts[p.member]
	switch {
	case !ok:
		if a != nil {
			a.final = 0
		}
		return nil
	case helper || a == nil || a.nothingLeft(over):
		return budgetError(over)
	}
	a.final++
	return nil
}

// Used returns an error if a limit is used up to its end, so that not even a request to hand over may be
// made, or if a limit in dollars cannot hold because the model has no price. A program's gateway asks it before
// each request; model is empty for one that costs nothing.
func (p Purse) Used(model string) error {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if a := p.l.accounts[p.member]; a != nil {
		a.held = true
		if _, priced := p.l.prices.find(model); !priced && !a.free && model != "" && (a.limits.MaxBudgetUSD > 0 || p.l.budget.USD > 0) {
			return &agent.APIError{Type: "model_not_found", Message: noPrice("a limit in dollars", "", model, "limits.max_tokens or budget.tokens")}
		}
	}
	if over, ok := p.l.over(p.member); ok && over.Full() && over.What != events.Time {
		return budgetError(over)
	}
	return nil
}

// Notes returns notes on the highest levels that the member has not been told of, or only the
// note on a limit that is used up.
func (p Purse) Notes() []agent.Input {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	a := p.l.accounts[p.member]
	if a == nil {
		return nil
	}
	if over, ok := p.l.over(p.member); ok {
		return useNote(over, a.noted, a.grant())
	}
	var list []agent.Input
	for _, u := range p.l.uses(p.member) {
		list = append(list, useNote(u, a.noted, a.grant())...)
	}
	return list
}

// Shown records the notes that the member has been shown.
func (p Purse) Shown(ids []string) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if a := p.l.accounts[p.member]; a != nil {
		for _, id := range ids {
			note(&a.noted, id, true)
		}
	}
}
