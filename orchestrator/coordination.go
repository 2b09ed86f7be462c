package orchestrator

import (
	"slices"
	"strings"

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

// costs counts what the lead is told. crew.mu guards it.
type costs struct {
	shown  map[string]int64 // notices that are on their way, by id: estimated tokens
	stands int64            // those that each further request of the conversation carries
	turn   Coordination     // the present turn
	run    Coordination     // all turns of this run that have ended
	digest bool             // the turn was begun by notes alone
}

// isNotice reports whether a message is covey's or an idle note's.
func isNotice(m mail.Message) bool {
	return m.From == "" && m.Kind != mail.Goal || m.Kind == mail.IdleNotification || m.Kind == mail.Terminated
}

// showing notes what the lead is about to be shown: all that is told of mail
// that are notices, and notes.
//
// It is called before the input is handed over; wasShown counts it when the transcript
// holds it. What never gets that far costs nothing and is not counted.
func (s *seat) showing(letters []mail.Message, in []agent.Input) {
	if !s.member.Lead {
		return
	}
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	for _, i := range in {
		own := slices.IndexFunc(letters, func(m mail.Message) bool { return m.ID == i.MessageID })
		if strings.HasPrefix(i.MessageID, mail.NoteID) || own >= 0 && isNotice(letters[own]) {
			if s.crew.costs.shown == nil {
				s.crew.costs.shown = map[string]int64{}
			}
			s.crew.costs.shown[i.MessageID] = int64(len(i.Text)+bytesPerToken-1) / bytesPerToken
		}
	}
}

// wasShown counts notices that now stand in the conversation. crew.mu is held.
func (c *costs) wasShown(ids []string, pass int) {
	for _, id := range ids {
		tokens, ok := c.shown[id]
		if !ok {
			continue
		}
		delete(c.shown, id)
		c.turn.Notices++
		c.stands += tokens
		if pass > 0 { // the request that is being made counted what stood before
			c.turn.Tokens += tokens
		}
	}
}

// see takes in an event of the lead's. over is the sum of a turn that has ended
// and cost something. crew.mu is held.
//
// Each pass carries all notices that stand in the conversation, hence stands is added
// with each. A turn that notes alone have begun counts as a whole, whatever it did then:
// without them it would not have been.
func (c *costs) see(e agent.EventData) (over Coordination, ok bool) {
	switch data := e.(type) {
	case agent.PassStarted:
		c.turn.Tokens += c.stands
	case agent.TurnEnded:
		over, c.turn = c.turn, Coordination{}
		over.Of, over.Estimated = data.Usage.InputTokens+data.Usage.OutputTokens, true
		if c.digest {
			over.Tokens, over.Turns = max(over.Tokens, over.Of), 1
		}
		if over.Of > 0 { // what is estimated is a part of what is known
			over.Tokens = min(over.Tokens, over.Of)
		}
		c.digest = false
		c.run = c.run.plus(over)
		return over, over.Tokens > 0 || over.Notices > 0
	}
	return over, false
}

// plus is the sum of two.
func (c Coordination) plus(d Coordination) Coordination {
	c.Tokens, c.Of, c.Estimated = c.Tokens+d.Tokens, c.Of+d.Of, true
	c.Notices, c.Turns = c.Notices+d.Notices, c.Turns+d.Turns
	return c
}

// coordinated tells the journal what a turn of the lead's has spent.
func (c *crew) coordinated(s *seat, e agent.Event) {
	if !s.member.Lead || e.Helper != "" {
		return
	}
	c.mu.Lock()
	over, ok := c.costs.see(e.Data)
	c.mu.Unlock()
	if ok {
		c.journal.Append(agent.Event{Member: e.Member, Turn: e.Turn, Data: over})
	}
}

// coordination is what the run has spent so far. crew.mu is held.
func (c *crew) coordination() Coordination {
	all := c.costs.run
	all.Estimated = true
	for _, s := range c.seats() {
		all.Finished += len(s.watch.completed)
	}
	return all
}
