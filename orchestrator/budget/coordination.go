package budget

import (
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// Coordination is what a turn of the lead, or a run of the team, has spent on
// being told of others: idle notes, and what covey itself says. Messages that
// members write are no part of it, for they are the work.
type Coordination struct {
	// Tokens are those of the lead's model requests that such notices were part
	// of, estimated at four bytes each, once for each request that carried
	// them; a turn that was begun by idle notes alone counts as a whole.
	Tokens int64 `json:"tokens"`
	// Of is all that the lead's requests took and gave, as its agent tells; 0
	// where it does not.
	Of int64 `json:"of"`
	// Notices are how many it was shown, Turns those that they alone began.
	Notices int `json:"notices"`
	Turns   int `json:"turns,omitempty"`
	// Finished are the tasks that the team has completed in this run; of a
	// single turn they are not told.
	Finished int `json:"finished,omitempty"`
	// Estimated says that Tokens is no count of a vendor's.
	Estimated bool `json:"estimated"`
}

// EventType is the journal's name for it.
func (Coordination) EventType() string { return "coordination" }

// Share is Tokens in all of the lead's, from 0 to 1; 0 where that is not known.
func (c Coordination) Share() float64 {
	if c.Of <= 0 {
		return 0
	}
	return float64(c.Tokens) / float64(c.Of)
}

// bytesPerToken is how many bytes of English text and JSON make a token of
// common models.
const bytesPerToken = 4

// Notices counts what the lead is told. The zero value is that of a lead which has been
// told nothing. Its methods may be called from any goroutine.
type Notices struct {
	mu      sync.Mutex
	showing map[string]int64 // notices that are on their way, by id: estimated tokens
	stands  int64            // those that each further request of the conversation carries
	turn    Coordination     // the present turn
	run     Coordination     // all turns of this run that have ended
	digest  bool             // the turn was begun by notes alone
}

// isNotice reports whether a message is covey's or an idle note's.
func isNotice(m mail.Message) bool {
	return m.From == "" && m.Kind != mail.Goal || m.Kind == mail.IdleNotification || m.Kind == mail.Terminated
}

// Showing notes what the lead is about to be shown: mail, those of its inputs that are
// notices, and notes.
//
// It is called before the input is handed over; Shown counts it when the transcript
// holds it. What never gets that far costs nothing and is not counted.
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

// Shown counts notices that now stand in the conversation.
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

// Digest notes that the lead's next turn is begun by notes alone.
func (n *Notices) Digest() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.digest = true
}

// See takes in an event of the lead's. over is the sum of a turn that has ended and cost
// something.
//
// Each pass carries all notices that stand in the conversation, hence stands is added
// with each. A turn that notes alone have begun counts as a whole, whatever it did then:
// without them it would not have been.
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

// Run is what the turns of this run that have ended have spent. Finished is not filled in.
func (n *Notices) Run() Coordination {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.run
	all.Estimated = true
	return all
}

// Plus is the sum of two.
func (c Coordination) Plus(d Coordination) Coordination {
	c.Tokens, c.Of, c.Estimated = c.Tokens+d.Tokens, c.Of+d.Of, true
	c.Notices, c.Turns = c.Notices+d.Notices, c.Turns+d.Turns
	return c
}
