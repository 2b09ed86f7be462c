package budget

import (
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// Coordination is what a turn of the lead, or a run of the team, has spent on notices: idle
// notes and messages of covey. Messages of members do not count, because they are work.
type Coordination struct {
	// Tokens is the number of tokens of notices in the lead's model requests, estimated at
	// four bytes each and counted once per request. A turn for idle notes only counts as a
	// whole.
	Tokens int64 `json:"tokens"`
	// Of is the number of all input and output tokens of the lead's requests, or 0 if its
	// agent does not report them.
	Of int64 `json:"of"`
	// Notices is the number of notices shown, and Turns that of turns for notes only.
	Notices int `json:"notices"`
	Turns   int `json:"turns,omitempty"`
	// Finished is the number of tasks that the team has completed in this run. It is not set
	// for a turn.
	Finished int `json:"finished,omitempty"`
	// Estimated is set if Tokens is not a vendor's count.
	Estimated bool `json:"estimated"`
}

// EventType returns the event's type in the journal.
func (Coordination) EventType() string { return "coordination" }

// Share returns the share of Tokens in Of, from 0 to 1, or 0 if Of is not known.
func (c Coordination) Share() float64 {
	if c.Of <= 0 {
		return 0
	}
	return float64(c.Tokens) / float64(c.Of)
}

// PerTask returns Tokens and Turns for each finished task, of which there is one at least.
func (c Coordination) PerTask() (tokens int64, turns float64) {
	return c.Tokens / int64(c.Finished), float64(c.Turns) / float64(c.Finished)
}

// bytesPerToken is the average size of a token of English text and JSON in common models.
const bytesPerToken = 4

// Notices counts the notices that the lead is shown. The zero value is ready to use. Its
// methods may be called from any goroutine.
type Notices struct {
	mu      sync.Mutex
	showing map[string]int64 // notices that are on their way, by id: estimated tokens
	stands  int64            // those that each further request of the conversation carries
	turn    Coordination     // the present turn
	run     Coordination     // all turns of this run that have ended
	digest  bool             // the turn was begun by notes alone
}

// isNotice reports whether a message is from covey or an idle note.
func isNotice(m mail.Message) bool {
	return m.From == "" && m.Kind != mail.Goal || m.Kind == mail.IdleNotification || m.Kind == mail.Terminated
}

// Showing records what the lead is about to be shown: mail, and inputs for it and for notes.
//
// It is called before the input is handed over. Shown counts a notice when the transcript
// holds it; before that it has cost nothing.
func (n *Notices) Showing(letters []mail.Message, in []agent.Input) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, i := range in {
		own := slices.IndexFunc(letters, func(m mail.Message) bool { return m.ID == i.MessageID })
		if strings.HasPrefix(i.MessageID, mail.NoteID) || own >= 0 && isNotice(letters[own]) {
			note(&n.showing, i.MessageID, int64(len(i.Text)+bytesPerToken-1)/bytesPerToken)
		}
	}
}

// Shown counts notices that are now in the conversation.
func (n *Notices) Shown(ids []string, pass int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range ids {
		tokens, ok := n.showing[id]
		if !ok {
			continue
		}
		delete(n.showing, id)
		n.turn.Notices++
		n.stands += tokens
		if pass > 0 { // the request that is being made counted what stood before
			n.turn.Tokens += tokens
		}
	}
}

// Digest records that the lead's next turn is for notes only.
func (n *Notices) Digest() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.digest = true
}

// See processes an event of the lead. over is the sum of a turn that has ended; ok is false if
// no turn has ended or if it has cost nothing.
//
// Each pass sends all notices in the conversation again, so stands is added each time. A turn
// for notes only counts as a whole, because it would not have taken place without them.
func (n *Notices) See(e agent.EventData) (over Coordination, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch data := e.(type) {
	case agent.PassStarted:
		n.turn.Tokens += n.stands
	case agent.TurnEnded:
		over, n.turn = n.turn, Coordination{}
		over.Of, over.Estimated = data.Usage.InputTokens+data.Usage.OutputTokens, true
		if n.digest {
			over.Tokens, over.Turns = max(over.Tokens, over.Of), 1
		}
		if over.Of > 0 { // what is estimated is a part of what is known
			over.Tokens = min(over.Tokens, over.Of)
		}
		n.digest = false
		n.run = n.run.Plus(over)
		return over, over.Tokens > 0 || over.Notices > 0
	}
	return over, false
}

// Run returns the sum of the turns of this run that have ended, without Finished.
func (n *Notices) Run() Coordination {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.run
	all.Estimated = true
	return all
}

// Plus returns the sum of c and d.
func (c Coordination) Plus(d Coordination) Coordination {
	c.Tokens, c.Of, c.Estimated = c.Tokens+d.Tokens, c.Of+d.Of, true
	c.Notices, c.Turns = c.Notices+d.Notices, c.Turns+d.Turns
	return c
}
