package script

import (
	"crypto/sha256"
	"maps"
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// maxUnseen bounds the conversations that unseen remembers. Those that need it
// are in the middle of a failure; there are never many.
const maxUnseen = 4096

// unseen remembers the steps that leave nothing in a conversation: errors, and
// empty answers. When the same conversation comes again they have served. It is
// forgotten as soon as an answer can be seen, from which replay knows the rest;
// so the same conversation in a later run of the agent begins anew.
type unseen struct {
	mu     sync.Mutex
	served map[place]map[int]int
	order  []place // oldest first
}

// place is a conversation up to one of its messages.
type place [sha256.Size]byte

// placesOf are the places of a conversation behind each of its messages. Each
// place depends on all before it. name keeps members apart who begin with the
// same words.
func placesOf(name string, messages []agent.Message) []place {
	at := sha256.Sum256([]byte(name))
	places := make([]place, 0, len(messages))
	for _, m := range messages {
		h := sha256.New()
		h.Write(at[:])
		for _, b := range m.Content {
			// Lengths are not needed: each piece ends with a byte that no UTF-8 has.
			for _, text := range []string{string(m.Role), b.Text, b.ID, b.ToolUseID, b.Content} {
				h.Write([]byte(text))
				h.Write([]byte{0xff})
			}
			places = append(places, place(h.Sum(nil)))
		}
		at = place(h.Sum(nil))
	}
	return places
}

// recall adds to served what has been remembered of the last of places that is
// known. The larger count wins: what replay has proved and what is remembered
// may overlap, and adding them up would skip steps.
func (u *unseen) recall(places []place, served map[int]int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := len(places) - 1; i >= 0; i-- {
		if known := u.served[places[i]]; known != nil {
			for step, n := range known {
				served[step] = max(served[step], n)
			}
			return
		}
	}
}

// remember keeps served for a conversation, after a step that cannot be seen.
// The oldest conversation goes when there are too many; it would only have a
// step serve again.
func (u *unseen) remember(places []place, served map[int]int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(places) == 0 {
		return
	}
	at := places[len(places)-1]
	if u.served == nil {
		u.served = map[place]map[int]int{}
	}
	if u.served[at] == nil {
		u.order = append(u.order, at)
	}
	u.served[at] = maps.Clone(served)
	for len(u.order) > maxUnseen {
		delete(u.served, u.order[0])
		u.order = u.order[1:]
	}
}

// forget drops what is known of places.
func (u *unseen) forget(places []place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range places {
		delete(u.served, at) // its entry in order ages out
	}
}
