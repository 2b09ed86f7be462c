package accounts

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// bytesPerToken is the average size of a token of English text and JSON in common models.
const bytesPerToken = 4

// Notices counts the notices that the lead is shown. Its methods may be called from any
// goroutine.
type Notices struct {
	Journal Journal // receives what each turn of the lead has spent on them

	mu      sync.Mutex
	showing map[string]int64    // notices that are on their way, by id: estimated tokens
	stands  int64               // estimated tokens of the notices in the conversation, which each request sends
	turn    events.Coordination // the present turn
	digest  bool                // the turn was begun by notes alone
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

// Assigned records whether the lead's next turn is for notes only. It implements crew.Assigner.
func (n *Notices) Assigned(m *members.Member, w teammate.Work) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.digest = n.digest || m.Lead && w.Digest
}

// Saw processes an event of the lead itself. It implements crew.Watcher.
func (n *Notices) Saw(_ context.Context, m *members.Member, e events.Event) error {
	if m.Lead && e.Helper == "" {
		if spent, ok := n.see(e.Data); ok {
			n.Journal.Append(events.Event{Member: e.Member, Turn: e.Turn, Data: spent})
		}
	}
	return nil
}

// see processes an event of the lead. over is the sum of a turn that has ended; ok is false if
// no turn has ended or if it has cost nothing.
//
// Each pass sends all notices in the conversation again, so stands is added each time. A turn
// for notes only counts as a whole, because it would not have taken place without them.
func (n *Notices) see(e events.Data) (over events.Coordination, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch data := e.(type) {
	case events.PassStarted:
		n.turn.Tokens += n.stands
	case events.TurnEnded:
		over, n.turn = n.turn, events.Coordination{}
		over.Of, over.Estimated = data.Usage.InputTokens+data.Usage.OutputTokens, true
		if n.digest {
			over.Tokens, over.Turns = max(over.Tokens, over.Of), 1
		}
		if over.Of > 0 { // what is estimated is a part of what is known
			over.Tokens = min(over.Tokens, over.Of)
		}
		n.digest = false
		return over, over.Tokens > 0 || over.Notices > 0
	}
	return over, false
}
