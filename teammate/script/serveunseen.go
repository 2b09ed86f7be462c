package script

import (
	"crypto/sha256"
	"maps"
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// maxUnseen is the maximum number of conversations in unseen. An entry exists only
// during a failure, so there are few.
const maxUnseen = 4096

// unseen remembers served steps that leave no trace in a conversation: errors and
// empty answers. They count as served when the same conversation comes again. The
// entry is removed once the conversation has a visible answer, from which replay
// determines the rest. So if a later run of the agent has the same conversation, it
// starts at the first step.
type unseen struct {
	mu     sync.Mutex
	served map[place]map[int]int
	order  []place // oldest first
}

// place identifies a conversation up to one of its messages.
type place [sha256.Size]byte

// placesOf returns the places after each message of a conversation. Each place
// depends on all messages before it. name distinguishes members that begin with the
// same messages.
func placesOf(name string, messages []agent.Message) []place {
	at := sha256.Sum256([]byte(name))
	places := make([]place, 0, len(messages))
	for _, m := range messages {
		h := sha256.New()
		h.Write(at[:])
		for _, b := range m.Content {
			// Each piece ends with a byte that does not occur in UTF-8, so lengths are not needed.
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

// recall adds to served the counts stored for the last known place. It keeps the
// larger count, because the counts of replay and of unseen may overlap and a sum
// would skip steps.
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

// remember stores served for a conversation, after a step that leaves no trace. It
// drops the oldest conversation if there are too many; that conversation would only
// repeat a step.
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

// forget removes the entries for places.
func (u *unseen) forget(places []place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range places {
		delete(u.served, at) // remember removes it from order later
	}
}
