package accounts

import "github.com/coveyteam/covey/teammate/agent"

// Bill adds up the costs of the prompts of one turn that a member's agent program reports. The
// member's goroutine owns it.
type Bill struct {
	ledger  *Ledger
	member  string
	keep    func(Cost) // stores the costs for the next run
	all     Cost
	turn    float64 // of the turn that runs, in US dollars
	unknown bool    // the program did not report the tokens of some prompt
}

// Cost is the costs that an agent program has reported, in US dollars.
type Cost struct {
	Session float64 // of its current session, as last reported
	Life    float64 // of all turns of the member, with all its agents
}

// NewBill makes the bill of a member that has these costs so far.
func (l *Ledger) NewBill(member string, before Cost, keep func(Cost)) *Bill {
	return &Bill{ledger: l, member: member, all: before, keep: keep}
}

// NewSession starts counting the costs of another session, and returns the member's total
// costs.
func (b *Bill) NewSession() (life float64) {
	b.all.Session = 0
	return b.all.Life
}

// EndTurn returns the costs of the turn and whether it used an unknown number of tokens, and
// begins the next turn.
func (b *Bill) EndTurn() (usd float64, unknown bool) {
	usd, unknown = b.turn, b.unknown
	b.turn, b.unknown = 0, false
	return usd, unknown
}

// AddPrompt adds a prompt that has ended. session is the cost of the program's session so far,
// or 0 if the program does not report it. known says whether it reported the prompt's tokens.
func (b *Bill) AddPrompt(session float64, known bool) {
	b.unknown = b.unknown || !known
	if session > 0 {
		since := b.since(session)
		b.all.Session = session
		if since > 0 {
			b.turn, b.all.Life = b.turn+since, b.all.Life+since
			b.keep(b.all)
		}
	}
	b.ledger.spend(b.member, func(a *account) {
		a.largest = a.largest.Max(0, b.all.Life-a.told)
		a.live, a.liveUSD, a.told = agent.Usage{}, 0, b.all.Life
		a.hazy = a.hazy || !known
		a.heed(b.all.Life)
	})
}

// AddLive counts what the running prompt has used so far, so that the budget does not learn of
// it only at the turn end.
func (b *Bill) AddLive(used agent.Usage, session float64) {
	since := 0.0
	if session > 0 {
		since = b.since(session)
	}
	b.ledger.spend(b.member, func(a *account) {
		a.live, a.liveUSD = used, since
		a.heed(b.all.Life + since)
	})
}

// since returns the costs of a session since the last report. A total lower than the last one
// means that the program has restarted its count.
func (b *Bill) since(session float64) float64 {
	if session < b.all.Session {
		return session
	}
	return session - b.all.Session
}
