package mail

import (
	"encoding/json"
	"maps"
	"sync"
)

// maxReceived bounds the text and data of the messages that a Received holds, in bytes. A
// reader that is further behind reads the store.
const maxReceived = 256 << 10

// Received holds the mail of one member that came over the bus, until it is read. The bus
// may lose a message or bring one twice, and brings one that was read meanwhile: the store
// says what is unread, so a Received only saves reading and decoding it there. It is safe
// for concurrent use.
type Received struct {
	Member string // set before the first use

	mu    sync.Mutex
	bySeq map[uint64]Message
	size  int // of text and data
}

// Put adds a message as it came over the bus. What is no message of the member is left to
// the store, as is what has no room.
func (r *Received) Put(data []byte) {
	var m Message
	if json.Unmarshal(data, &m) != nil || m.To != r.Member {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, twice := r.bySeq[m.Seq]; twice || r.size+m.size() > maxReceived {
		return
	}
	if r.bySeq == nil {
		r.bySeq = map[uint64]Message{}
	}
	r.bySeq[m.Seq] = m
	r.size += m.size()
}

// now returns the messages that have come so far.
func (r *Received) now() map[uint64]Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.bySeq)
}

// settle drops those of the messages in came that are not unread any more.
func (r *Received) settle(came map[uint64]Message, unread []Message) {
	for _, m := range unread {
		delete(came, m.Seq)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for seq, m := range came {
		if _, held := r.bySeq[seq]; held { // another reader may have dropped it
			delete(r.bySeq, seq)
			r.size -= m.size()
		}
	}
}

// size returns the bytes of a message's text and data.
func (m *Message) size() int { return len(m.Text) + len(m.Data) }
