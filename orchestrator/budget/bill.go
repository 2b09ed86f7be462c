package budget

import "github.com/coveyteam/covey/teammate/agent"

// Bill adds up what the prompts of one turn have cost, as far as the agent program of a
// member tells. It belongs to the member's goroutine.
type Bill struct {
	ledger  *Ledger
	member  string
	keep    func(Cost) // keeps the costs over a restart
	all     Cost
	turn    float64 // of the turn that runs, in US dollars
	unknown bool    // some prompt of the turn told no tokens
}

// Cost is what an agent program has told of its costs, in US dollars.
type Cost struct {
	Session float64 // of its present session, as it was last told
	Life    float64 // of all turns that the member has had, with all its agents
}

// NewBill is the bill of a member that has cost so much before.
func (l *Ledger) NewBill(member string, before Cost, keep func(Cost)) *Bill {
	return &Bill{ledger: l, member: member, all: before, keep: keep}
}

// NewSession has the costs of another session counted from now on. It returns what the
// member has cost in its life.
func (b *Bill) NewSession() (life float64) {
	b.all.Session = 0
	return b.all.Life
}

// EndTurn returns what the turn has cost, and whether some of it used tokens that are not
// known, and begins the next one.
func (b *Bill) EndTurn() (usd float64, unknown bool) {
	usd, unknown = b.turn, b.unknown
	b.turn, b.unknown = 0, false
	return usd, unknown
}

// AddPrompt adds a prompt that has ended. session is what the program's session has cost
// so far; 0: it does not tell. known says that it has told the tokens of the prompt.
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
		a.live, a.liveUSD, a.told = agent.Usage{}, 0, b.all.Life
		a.hazy = a.hazy || !known
		a.heed(b.all.Life)
	})
}

// AddLive counts what the prompt that runs has used so far: a budget must not learn of it
// only when the turn is over.
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

// since is what a session has cost since it was last told. A total that is lower
// than the last one began anew with the program.
func (b *Bill) since(session float64) float64 {
	if session < b.all.Session {
		return session
	}
	return session - b.all.Session
}
