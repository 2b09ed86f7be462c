package acp

import (
	"encoding/json"
	"sync"
)

// inboxBytes bounds the bytes waiting in the inbox of a program. A program that sends more
// has to wait, as with any pipe.
const inboxBytes = 64 << 20

// news is one item received from the program: an update, a question, or the answer to a
// call.
type news struct {
	update   json.RawMessage // of session/update
	question *question       // a request for permission
	answer   *call           // a call that has its answer
	size     int
}

// inbox queues what a program sends, in order. It is open only while a prompt runs; what
// arrives at other times, such as replayed history, is ignored.
type inbox struct {
	ready chan struct{} // has a token while items wait

	mu     sync.Mutex
	room   sync.Cond
	items  []news
	bytes  int
	most   int // limit of bytes
	opened bool
	closed bool // for good
}

// newInbox returns an inbox that is shut.
func newInbox() *inbox {
	b := &inbox{ready: make(chan struct{}, 1), most: inboxBytes}
	b.room.L = &b.mu
	return b
}

// push adds n when there is room, and reports whether it did. It returns false if the
// inbox is shut or closed; the caller then answers what needs an answer. A single item may
// be larger than the inbox, because it would otherwise wait for ever.
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

// drain returns all waiting items. The token may outlive the items, so the result may be
// empty.
func (b *inbox) drain() []news {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items, b.bytes = nil, 0
	b.room.Broadcast()
	return items
}

// open makes the inbox accept items.
func (b *inbox) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = true
}

// shut returns the remaining items and accepts no more until open. It also removes the
// token, so that the next prompt does not wake without an item.
func (b *inbox) shut() []news {
	items := b.drain()
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

// close shuts the inbox for good; waiting items can still be taken.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.room.Broadcast()
}
