// Package accounts counts what the members of a team use, and reports what is left of their
// limits and of the team's budget. It has the prices of models, and counts the turns of a
// run and what the lead is told. It is covey's own and makes no promise to other programs.
//
// What is used counts over all runs: Open takes a member in with what its transcripts say
// that it has used. A Purse is asked between the passes of a turn, so a limit also ends a
// turn that has begun. It then grants a few passes more, in which the member hands over.
//
// # Logins
//
// Logins tracks the logins of a team's agents: which members are locked out and until when, how many
// turns may run at once, and to which agent a member falls back. Several members may share a login: an
// account of a vendor, or a key. When a program reports a usage limit, the member is locked out until
// the time that the program named, or tries again after a pause. Lockouts are stored, so that a
// restarted team does not ask the vendor too early.
//
// # Tasks
//
// Shares divides what the work on tasks has cost. A request counts for the tasks that its member has in
// progress, in equal parts, and nothing is lost by rounding. What a turn uses before its first task
// counts for that task, and what it uses after one for the last; a turn without a task counts for none.
// The store keeps the sums with the tasks, so a restart or a long list needs no look into the journal.
//
// # What is not known
//
// Agent programs may not report what they used, and hosts may not count. A count with unknown parts says
// so, and people read "at least". Prices are those of a day; a model without a price costs nothing in
// the sums, and is named as such.
package accounts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// handOverPasses is how many model requests a member may still make to hand over when its limit or
// the team's budget comes to its end. The first one tells it to finish and to hand over. An agent
// program makes any number of requests per prompt, so it gets only that prompt.
//
// These requests are a part of the limit, except for budget.time: as much is kept for them as the
// largest requests so far would use, but not more than a share of the limit, and enough for one.
// So a limit is exceeded by one request of a member at most, which nobody can know before.
const (
	handOverPasses = 5
	handOverShare  = 5 // the reciprocal of the share
)

// kept returns how much of a limit is kept for handing over if one request uses this much.
func kept(request, limit float64) float64 {
	return max(request, min(handOverPasses*request, limit/handOverShare))
}

// LedgerDeps are a Ledger's dependencies.
type LedgerDeps struct {
	Store   *tasks.Store                       // keeps how long the team was up
	Tell    func(member string, e events.Data) // reports an event of a member, or of the team
	Changed func()                             // called when a level is reached, because the team may have to end
	// Interrupt interrupts the turn of a member that a limit should have ended.
	Interrupt func(member, reason string)
}

// Ledger holds the accounts of the members of a team, over all runs. Its methods may be called
// from any goroutine. It calls the functions of its dependencies without holding its lock.
type Ledger struct {
	deps LedgerDeps

	telling  sync.Mutex // held while a use is told, so that the last one told is the newest
	mu       sync.Mutex
	budget   configs.Budget
	prices   PriceList
	accounts map[string]*account // of members that the spec no longer has, too
	tokens   int64               // of all accounts
	usd      float64             // likewise
	largest  transcript.Request  // the sum of the largest requests of all accounts
	earlier  time.Duration       // that the team was up in earlier runs
	began    time.Time           // of this run
	kept     time.Time           // when the up time was last stored
	levels   map[string]int      // reported levels of the team's uses, by useKey
	hazy     bool                // some account is
	dear     bool                // likewise
	overruns map[string]overrun  // of members
}

// account is what one member uses.
type account struct {
	limits  configs.Limits
	model   string      // by which its prices are found
	usage   agent.Usage // of all its lives
	priced  float64     // US dollars by covey's prices
	told    float64     // US dollars that its agent program has reported
	live    agent.Usage // of a prompt that still runs, which is in usage when it ends
	liveUSD float64     // likewise
	final   int         // passes that it has had to hand over
	largest transcript.Request
	noted   map[string]bool // ids of the notes that it was shown
	levels  map[string]int  // reported levels of its own uses, by useKey
	warned  map[string]bool // units of which people were warned that the count is not exact
	program bool            // its agent is a program of its own
	held    bool            // likewise, and each of its requests asks before whether it may be made
	hazy    bool            // its program does not report all tokens
	dear    bool            // the cost of some of its tokens is not known
	free    bool            // it is paid for by a subscription: its tokens have no price
	spent   bool            // a limit is used up, and only a higher one lets it continue
	shown   bool            // its use was told
}

// NewLedger makes the ledger of a team without accounts.
func NewLedger(b configs.Budget, prices PriceList, deps LedgerDeps) *Ledger {
	return &Ledger{
		deps: deps, budget: b, prices: prices, began: time.Now(), accounts: map[string]*account{},
	}
}

// Open opens the account of a member with what it has used before.
func (l *Ledger) Open(member string, limits configs.Limits, by configs.Agent, h transcript.History) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &account{limits: limits, usage: h.Usage, priced: h.CostUSD, largest: h.Largest}
	a.goBy(by)
	for id := range h.Delivered {
		if strings.HasPrefix(id, agent.NotePrefix) {
			note(&a.noted, id, true)
		}
	}
	if was := l.accounts[member]; was != nil { // the member begins anew, with the same history
		l.tokens, l.usd = l.tokens-was.tokens(), l.usd-was.usd()
		l.addLargest(-was.largest.Tokens, -was.largest.USD)
	}
	l.accounts[member] = a
	l.tokens, l.usd = l.tokens+a.tokens(), l.usd+a.usd()
	l.addLargest(a.largest.Tokens, a.largest.USD)
}

// addLargest adds to the sum of the largest requests.
func (l *Ledger) addLargest(tokens int64, usd float64) {
	l.largest = transcript.Request{Tokens: l.largest.Tokens + tokens, USD: l.largest.USD + usd}
}

// goBy applies the prices of an agent, and the limits of its kind, from now on.
func (a *account) goBy(agent configs.Agent) {
	a.model, a.free = pricedAs(agent), subscribed(agent)
	a.program = agent.Kind == configs.ACP || agent.Kind == configs.Command
}

// grant returns how many passes the member gets to hand over when a limit is used up.
func (a *account) grant() int {
	if a.program {
		return 1
	}
	return handOverPasses
}

// SetLimits replaces the limits of a member.
func (l *Ledger) SetLimits(member string, limits configs.Limits) {
	l.change(func() {
		if a := l.accounts[member]; a != nil {
			a.limits = limits
		}
	})
	l.tellUse(member)
}

// SetAgent replaces the agent of a member. Earlier use keeps the price at which it was counted.
func (l *Ledger) SetAgent(member string, agent configs.Agent) {
	l.change(func() {
		if a := l.accounts[member]; a != nil {
			a.goBy(agent)
		}
	})
}

// SetBudget replaces the budget and the prices of the team.
func (l *Ledger) SetBudget(b configs.Budget, prices PriceList) {
	l.change(func() { l.budget, l.prices = b, prices })
	l.tellUse("")
}

// change calls do under the lock, and then reports the levels that it has reached.
func (l *Ledger) change(do func()) {
	l.mu.Lock()
	do()
	var news []events.BudgetUse
	for member := range l.accounts {
		news = append(news, l.crossed(member)...)
	}
	l.mu.Unlock()
	slices.SortFunc(news, func(a, b events.BudgetUse) int { return cmp.Compare(a.Member, b.Member) })
	l.tell(news)
}

// tell reports levels that were reached.
func (l *Ledger) tell(news []events.BudgetUse) {
	for _, u := range news {
		l.deps.Tell(u.Member, u)
		l.deps.Changed()
	}
}

// spend adds to what a member has used.
func (l *Ledger) spend(member string, add func(*account)) {
	l.mu.Lock()
	a := l.accounts[member]
	if a == nil {
		l.mu.Unlock()
		return
	}
	tokens, usd, largest := a.tokens(), a.usd(), a.largest
	add(a)
	l.tokens, l.usd = l.tokens+a.tokens()-tokens, l.usd+a.usd()-usd
	l.addLargest(a.largest.Tokens-largest.Tokens, a.largest.USD-largest.USD)
	isNew, news := a.tokens() != tokens || a.usd() != usd, l.crossed(member)
	l.mu.Unlock()
	if isNew {
		l.tellUse(member)
	}
	l.tell(news)
}

// Joined tells what a member has used in earlier runs. It implements crew.Joiner.
func (l *Ledger) Joined(_ context.Context, m *members.Member) error {
	l.tellUse(m.Name)
	return nil
}

// tellUse tells what a member has used, or the team if the name is empty. What has neither a limit
// nor a cost is not told of, unless it had before.
func (l *Ledger) tellUse(member string) {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.mu.Lock()
	use, a := l.use(member), l.accounts[member]
	isNothing := len(use.Limits)+len(use.Team) == 0 && use.CostUSD == 0 && (a != nil && !a.shown)
	if a != nil {
		a.shown = !isNothing
	}
	l.mu.Unlock()
	if !isNothing {
		l.deps.Tell(member, use)
	}
}

// use returns what a member has used, or the team if the name is empty. l.mu must be held.
func (l *Ledger) use(member string) events.MemberUse {
	use := events.MemberUse{Team: l.teamUses()}
	for _, u := range l.uses(member) {
		if u.Member != "" {
			use.Limits = append(use.Limits, u)
		}
	}
	if a := l.accounts[member]; a != nil {
		use.CostUSD = a.usd()
	}
	return use
}

// crossed returns the levels of a member and of the team that were reached since the last
// call.
func (l *Ledger) crossed(member string) []events.BudgetUse {
	var news []events.BudgetUse
	for _, u := range l.uses(member) {
		told := &l.levels
		if u.Member != "" {
			told = &l.accounts[member].levels
		}
		switch {
		case u.Level > (*told)[useKey(u)]:
			news = append(news, u)
			fallthrough
		case u.Level < (*told)[useKey(u)]: // the limit was raised, so its levels are reported again
			note(told, useKey(u), u.Level)
		}
	}
	return news
}

// uses returns the uses of all limits of a member: its own, then the team's budget. l.mu must
// be held.
func (l *Ledger) uses(member string) []events.BudgetUse {
	var list []events.BudgetUse
	if a := l.accounts[member]; a != nil {
		list = append(list,
			events.BudgetUse{
				Member: member, What: events.Tokens, Used: float64(a.tokens()), Limit: float64(a.limits.MaxTokens), Least: a.hazy,
				Kept: kept(float64(a.largest.Tokens), float64(a.limits.MaxTokens)),
			},
			events.BudgetUse{Member: member, What: events.USD, Used: a.usd(), Limit: a.limits.MaxBudgetUSD, Least: a.dear,
				Kept: kept(a.largest.USD, a.limits.MaxBudgetUSD)})
	}
	return bounded(append(list, l.teamUses()...))
}

// teamUses returns the uses of the team's budget. l.mu must be held.
func (l *Ledger) teamUses() []events.BudgetUse {
	return bounded([]events.BudgetUse{
		{What: events.Tokens, Used: float64(l.tokens), Limit: float64(l.budget.Tokens), Least: l.hazy,
			Kept: kept(float64(l.largest.Tokens), float64(l.budget.Tokens))},
		{What: events.USD, Used: l.usd, Limit: l.budget.USD, Least: l.dear, Kept: kept(l.largest.USD, l.budget.USD)},
		{What: events.Time, Used: l.up().Seconds(), Limit: l.budget.Time.Seconds()},
	})
}

// over returns the first of a member's uses of which only what is kept for handing over is left, or
// rather one that is full. Its level is 100. l.mu must be held.
func (l *Ledger) over(member string) (events.BudgetUse, bool) {
	// It is called for each member in each scene, and most teams have no limits.
	a := l.accounts[member]
	if l.budget.Tokens == 0 && l.budget.USD == 0 && l.budget.Time == 0 &&
		(a == nil || a.limits.MaxTokens == 0 && a.limits.MaxBudgetUSD == 0) {
		return events.BudgetUse{}, false
	}
	return firstOver(l.uses(member))
}

func firstOver(uses []events.BudgetUse) (first events.BudgetUse, ok bool) {
	for _, u := range uses {
		if u.Used+u.Kept >= u.Limit && (!ok || u.Full() && !first.Full()) {
			first, ok = u, true
			first.Level = 100
		}
	}
	return first, ok
}

// nothingLeft reports whether a member may make no request any more, not even to hand over. u is
// what is over.
func (a *account) nothingLeft(u events.BudgetUse) bool {
	return a.final >= a.grant() || u.Full() && u.What != events.Time
}

// tokens returns the tokens that a member is known to have used.
func (a *account) tokens() int64 { return a.usage.Total() + a.live.Total() }

// heed records a cost that the agent program has reported. covey's prices are only for
// programs that report none.
func (a *account) heed(told float64) {
	if told > 0 {
		a.model = ""
	}
}

// usd returns the known cost of a member, in US dollars.
func (a *account) usd() float64 { return a.priced + a.told + a.liveUSD }

// Describe sets which limits are used up, and interrupts turns that go on for too long after that.
// It implements crew.Describer.
func (l *Ledger) Describe(s *plan.Scene, _ []*members.Member) {
	l.mu.Lock()
	if u, ok := firstOver(l.teamUses()); ok {
		s.Exhausted = useReason(u)
	}
	s.AtLimit = l.budget.OnLimit == configs.StopAtLimit
	for i := range s.Seats {
		s.Seats[i].Spent, s.Seats[i].LastWord = l.spent(s.Seats[i].Name)
	}
	late := l.overrun(s.Seats)
	l.changes(s)
	l.mu.Unlock()
	for _, seat := range late {
		l.deps.Interrupt(seat.Name, seat.Spent)
	}
}

// spent returns which limit of a member is used up, or "", and whether the member was told to
// hand over, or cannot. l.mu must be held.
func (l *Ledger) spent(member string) (reason string, told bool) {
	over, ok := l.over(member)
	a := l.accounts[member]
	if !ok || a == nil {
		return "", false
	}
	return useReason(over), a.noted[useID(over, 100)] || a.nothingLeft(over)
}

// HandOver returns the last prompt of a member that has used up a limit.
func (l *Ledger) HandOver(member string) (agent.Input, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	over, ok := l.over(member)
	if !ok {
		return agent.Input{}, false
	}
	return useNote(over, nil, l.accounts[member].grant())[0], true
}

// bounded removes uses without a limit, and sets the levels of the others.
func bounded(list []events.BudgetUse) []events.BudgetUse {
	list = slices.DeleteFunc(list, func(u events.BudgetUse) bool { return u.Limit <= 0 })
	for i, u := range list {
		list[i].Level = agent.Level(u.Used, u.Limit)
	}
	return list
}

// budgetError returns the error with which a turn ends.
func budgetError(u events.BudgetUse) error {
	cause := agent.ErrTeamBudget
	switch {
	case u.Member != "" && u.What == events.Tokens:
		cause = agent.ErrMaxTokens
	case u.Member != "":
		cause = agent.ErrMaxBudget
	}
	return fmt.Errorf("%w: %s", cause, u.Amount())
}

// OnLimit returns what the team does at a vendor's limit.
func (l *Ledger) OnLimit() configs.OnLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget.OnLimit
}
