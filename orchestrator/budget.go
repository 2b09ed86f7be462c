package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// handOverPasses is how many model requests a member may still make once its
// limit or the team's budget is used up: the first of them is the one that tells
// it to finish and to hand over. An agent program makes any number of requests
// for one prompt, so it gets that prompt alone.
const handOverPasses = 5

// ledger counts what the members of a team use, in all their lives, and says what
// is left of their limits and of the team's budget. It is asked and told from
// many goroutines. It calls tell without holding its lock.
type ledger struct {
	tell func(journal.BudgetUse) // of each level that is reached, once in a run; set before anybody is hired

	mu       sync.Mutex
	budget   configs.Budget
	prices   priceList
	accounts map[string]*account // of members that the spec no longer has, too
	tokens   int64               // of all accounts
	usd      float64             // likewise
	earlier  time.Duration       // that the team was up in earlier runs
	began    time.Time           // of this run
	kept     time.Time           // when it was last kept how long the team is up
	levels   map[string]int      // of the team's uses that were told, by useKey
	hazy     bool                // some account is
	dear     bool                // likewise
}

// account is what one member uses.
type account struct {
	limits  configs.Limits
	model   string          // by which its prices are found
	usage   agent.Usage     // of all its lives
	priced  float64         // US dollars by covey's prices
	told    float64         // US dollars that its agent program has told
	live    agent.Usage     // of a prompt that still runs, which is in usage when it ends
	liveUSD float64         // likewise
	grant   int             // passes that it gets when something is used up, to hand over
	final   int             // how many of them it has had
	noted   map[string]bool // ids of the notes that it was shown
	levels  map[string]int  // of its own uses that were told, by useKey
	hazy    bool            // it does not tell all the tokens that it uses
	dear    bool            // nor does anybody know what all of them cost
	free    bool            // it is paid for by a subscription: its tokens have no price
	warned  map[string]bool // what people were told not to know exactly
}

// newLedger is the ledger of a team whose members have not been hired yet.
func newLedger(b configs.Budget, p priceList, earlier time.Duration, now time.Time) *ledger {
	return &ledger{
		tell: func(journal.BudgetUse) {}, budget: b, prices: p, earlier: earlier, began: now,
		accounts: map[string]*account{},
	}
}

// open takes a member in with what it has used before.
func (l *ledger) open(member string, limits configs.Limits, agent configs.Agent, h transcript.History) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &account{
		limits: limits, model: pricedAs(agent), free: subscribed(agent), usage: h.Usage, priced: h.CostUSD,
		grant: handOverPasses,
	}
	if agent.Kind == configs.ACP || agent.Kind == configs.Command {
		a.grant = 1
	}
	for id := range h.Delivered {
		if strings.HasPrefix(id, teammate.NotePrefix) {
			note(&a.noted, id, true)
		}
	}
	if was := l.accounts[member]; was != nil { // the member begins anew: its history tells the same again
		l.tokens, l.usd = l.tokens-was.tokens(), l.usd-was.usd()
	}
	l.accounts[member] = a
	l.tokens, l.usd = l.tokens+a.tokens(), l.usd+a.usd()
}

// setLimits lets other limits hold for a member from now on.
func (l *ledger) setLimits(member string, limits configs.Limits) {
	l.change(func() {
		if a := l.accounts[member]; a != nil {
			a.limits = limits
		}
	})
}

// setBudget lets another budget hold for the team from now on.
func (l *ledger) setBudget(b configs.Budget, p priceList) {
	l.change(func() { l.budget, l.prices = b, p })
}

// change does something under the lock, and tells of the levels that are reached
// by it.
func (l *ledger) change(do func()) {
	l.mu.Lock()
	do()
	var news []journal.BudgetUse
	for member := range l.accounts {
		news = append(news, l.crossed(member)...)
	}
	l.mu.Unlock()
	slices.SortFunc(news, func(a, b journal.BudgetUse) int { return cmp.Compare(a.Member, b.Member) })
	for _, u := range news {
		l.tell(u)
	}
}

// spend adds to what a member has used.
func (l *ledger) spend(member string, add func(*account)) {
	l.mu.Lock()
	a := l.accounts[member]
	if a == nil {
		l.mu.Unlock()
		return
	}
	tokens, usd := a.tokens(), a.usd()
	add(a)
	l.tokens, l.usd = l.tokens+a.tokens()-tokens, l.usd+a.usd()-usd
	news := l.crossed(member)
	l.mu.Unlock()
	for _, u := range news {
		l.tell(u)
	}
}

// crossed are the levels that were reached since it was last called, of a member
// and of the team. It counts them as told.
func (l *ledger) crossed(member string) []journal.BudgetUse {
	var news []journal.BudgetUse
	for _, u := range l.uses(member) {
		told := &l.levels
		if u.Member != "" {
			told = &l.accounts[member].levels
		}
		switch {
		case u.Level > (*told)[useKey(u)]:
			news = append(news, u)
			fallthrough
		case u.Level < (*told)[useKey(u)]: // the limit was raised: its levels come anew
			note(told, useKey(u), u.Level)
		}
	}
	return news
}

// uses are all that bounds a member: its own limits, then the team's budget.
// l.mu is held.
func (l *ledger) uses(member string) []journal.BudgetUse {
	var list []journal.BudgetUse
	if a := l.accounts[member]; a != nil {
		list = append(list,
			journal.BudgetUse{
				Member: member, What: journal.Tokens, Used: float64(a.tokens()), Limit: float64(a.limits.MaxTokens), Least: a.hazy,
			},
			journal.BudgetUse{Member: member, What: journal.USD, Used: a.usd(), Limit: a.limits.MaxBudgetUSD, Least: a.dear})
	}
	return bounded(append(list, l.teamUses()...))
}

// teamUses are what the team has used of its budget. l.mu is held.
func (l *ledger) teamUses() []journal.BudgetUse {
	return bounded([]journal.BudgetUse{
		{What: journal.Tokens, Used: float64(l.tokens), Limit: float64(l.budget.Tokens), Least: l.hazy},
		{What: journal.USD, Used: l.usd, Limit: l.budget.USD, Least: l.dear},
		{What: journal.Time, Used: l.up().Seconds(), Limit: l.budget.Time.Seconds()},
	})
}

// up is how long the team has been up, over all its runs.
func (l *ledger) up() time.Duration { return l.earlier + time.Since(l.began) }

// over is the first of a member's uses that has reached its limit.
//
// l.mu is held.
func (l *ledger) over(member string) (journal.BudgetUse, bool) {
	// Asked for each member in each scene: most teams have no limits.
	a := l.accounts[member]
	if l.budget.Tokens == 0 && l.budget.USD == 0 && l.budget.Time == 0 &&
		(a == nil || a.limits.MaxTokens == 0 && a.limits.MaxBudgetUSD == 0) {
		return journal.BudgetUse{}, false
	}
	for _, u := range l.uses(member) {
		if u.Level >= 100 {
			return u, true
		}
	}
	return journal.BudgetUse{}, false
}

// tokens are all tokens that a member is known to have used.
func (a *account) tokens() int64 { return a.usage.Total() + a.live.Total() }

// heed takes note that the agent program tells what it costs: covey's prices are
// for those that do not.
func (a *account) heed(told float64) {
	if told > 0 {
		a.model = ""
	}
}

// usd is what a member is known to have cost.
func (a *account) usd() float64 { return a.priced + a.told + a.liveUSD }

// purse is a member's side of the ledger. It is a teammate.Purse.
type purse struct {
	l      *ledger
	member string
}

// Price is what tokens cost by covey's prices.
func (p purse) Price(u agent.Usage) float64 {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	a := p.l.accounts[p.member]
	if a == nil {
		return 0
	}
	price, _ := p.l.prices.find(a.model)
	return price.of(u)
}

// Spend counts tokens.
func (p purse) Spend(u agent.Usage, usd float64) {
	p.l.spend(p.member, func(a *account) {
		a.usage, a.priced = a.usage.Plus(u), a.priced+usd
		a.live = a.live.Less(u) // they are what was heard of before
	})
}

// Left grants a few passes to a member that has used something up, to hand over;
// to its helpers none.
func (p purse) Left(helper bool) error {
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
	case helper || a == nil || a.final >= a.grant:
		return budgetError(over)
	}
	a.final++
	return nil
}

// Notes are the highest levels that the member has not been told of; when
// something is used up, that alone.
func (p purse) Notes() []agent.Input {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	a := p.l.accounts[p.member]
	if a == nil {
		return nil
	}
	if over, ok := p.l.over(p.member); ok {
		return useNote(over, a.noted, a.grant)
	}
	var list []agent.Input
	for _, u := range p.l.uses(p.member) {
		list = append(list, useNote(u, a.noted, a.grant)...)
	}
	return list
}

// Shown notes what the member has been told.
func (p purse) Shown(ids []string) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if a := p.l.accounts[p.member]; a != nil {
		for _, id := range ids {
			note(&a.noted, id, true)
		}
	}
}

// spent says what a member has used up, and whether it was told to hand over;
// empty: nothing is.
func (l *ledger) spent(member string) (reason string, told bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	over, ok := l.over(member)
	if !ok || l.accounts[member] == nil {
		return "", false
	}
	return useReason(over), l.accounts[member].noted[useID(over, 100)]
}

// broke says what of its budget the team has used up; empty: nothing.
func (l *ledger) broke() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.teamUses() {
		if u.Level >= 100 {
			return useReason(u)
		}
	}
	return ""
}

// handOver is the last prompt of a member that has used something up.
func (l *ledger) handOver(member string) (agent.Input, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	over, ok := l.over(member)
	if !ok {
		return agent.Input{}, false
	}
	return useNote(over, nil, l.accounts[member].grant)[0], true
}

// bounded leaves out what has no limit, and gives the rest their levels.
func bounded(list []journal.BudgetUse) []journal.BudgetUse {
	list = slices.DeleteFunc(list, func(u journal.BudgetUse) bool { return u.Limit <= 0 })
	for i, u := range list {
		list[i].Level = teammate.Level(u.Used, u.Limit)
	}
	return list
}

// budgetError is why a turn ends.
func budgetError(u journal.BudgetUse) error {
	cause := agent.ErrTeamBudget
	switch {
	case u.Member != "" && u.What == journal.Tokens:
		cause = agent.ErrMaxTokens
	case u.Member != "":
		cause = agent.ErrMaxBudget
	}
	return fmt.Errorf("%w: %s", cause, u.Amount())
}
