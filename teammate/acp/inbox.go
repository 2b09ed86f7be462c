package acp

import (
	"encoding/json"
	"sync"
)

// inboxBytes bounds what waits in the inbox of a program. A program that sends more than its
// turn can take waits until there is room, as it would with any pipe.
const inboxBytes = 64 << 20

// news is one thing that has come from the program: an update, a question, or
// the answer to a call of ours.
type news struct {
	update   json.RawMessage // of session/update
	question *question       // a permission that is asked for
	answer   *call           // a call of ours that has its answer
	size     int
}

// inbox keeps what comes from the program in order. It is open only while a
// prompt runs: what comes at other times (replayed history, last words) is
// nobody's business.
type inbox struct {
	ready chan struct{} // holds a token while something waits

	mu     sync.Mutex
	room   sync.Cond
	items  []news
	bytes  int
	most   int // bytes that may wait
	opened bool
	closed bool // for good
}

// newInbox returns an inbox that is shut: nothing is wanted before a prompt.
func newInbox() *inbox {
	b := &inbox{ready: make(chan struct{}, 1), most: inboxBytes}
	b.room.L = &b.mu
	return b
}

// push adds n, and waits for room first. It reports whether n was taken. One
// item is taken however large it is, if it is alone: a line longer than the
// whole inbox would otherwise wait for ever. false means shut or closed; the
// caller answers what needs an answer.
func (b *inbox) push(n news) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.opened && !b.closed && len(b.items) > 0 && b.bytes+n.size > b.most {
		b.room.Wait()
	}
	if !b.opened || b.closed {
		return false
	}
	b.items = append(b.items, n)
	b.bytes += n.size
	select {
	case b.ready <- struct{}{}:
	default:
	}
	return true
}

// take returns all that waits. Its token may outlive the items, so there may be
// nothing to take.
func (b *inbox) take() []news {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items, b.bytes = nil, 0
	b.room.Broadcast()
	return items
}

// open lets news in.
func (b *inbox) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = true
}

// shut returns what is left and lets nothing in until it is opened again. The
// token goes as well, or the next prompt would begin with a false alarm.
func (b *inbox) shut() []news {
	items := b.take()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = false
	items = append(items, b.items...)
	b.items, b.bytes = nil, 0
	select {
	case <-b.ready:
	default:
	}
	b.room.Broadcast()
	return items
}

// close shuts the inbox for good; what waits can still be taken.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.room.Broadcast()
}
