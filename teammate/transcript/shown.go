package transcript

import (
	"maps"

	"github.com/coveyteam/covey/teammate/agent"
)

// Shown are the messages (mail, goal, tasks) that a transcript shows, by id. It belongs to one
// goroutine.
type Shown struct {
	ids map[string]bool
	// unconfirmed are those of them that the inbox could not be told of.
	unconfirmed map[string]bool
}

// Shown returns the messages that the transcript shows.
func (h History) Shown() Shown { return Shown{ids: maps.Clone(h.Delivered)} }

// Has reports whether the transcript shows a message.
func (s *Shown) Has(id string) bool { return s.ids[id] }

// Add records that the transcript shows these messages.
func (s *Shown) Add(ids []string) { add(&s.ids, ids) }

// Confirm records whether the inbox knows that the transcript shows these messages.
func (s *Shown) Confirm(ids []string, known bool) {
	if !known {
		add(&s.unconfirmed, ids)
		return
	}
	for _, id := range ids {
		delete(s.unconfirmed, id)
	}
}

// Confirmed reports whether the inbox knows of all messages.
func (s *Shown) Confirmed() bool { return len(s.unconfirmed) == 0 }

// Split returns the inputs that the transcript does not show, and the ids of the others.
func (s *Shown) Split(inputs []agent.Input) (fresh []agent.Input, shown []string) {
	for _, in := range inputs {
		if in.MessageID != "" && s.Has(in.MessageID) {
			shown = append(shown, in.MessageID)
			continue
		}
		fresh = append(fresh, in)
	}
	return fresh, shown
}

// add adds ids to a set, which may be nil.
func add(set *map[string]bool, ids []string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	for _, id := range ids {
		(*set)[id] = true
	}
}
