package command

import (
	"bytes"
	"sync"
	"sync/atomic"
)

const (
	// maxLine bounds a line of the program, in bytes. What is longer is cut off
	// there: no JSON any more, but still text.
	maxLine = 32 << 20
	// inboxBytes bounds what waits in an inbox. A program that prints more than
	// its turn can take waits until there is room, as it would with any pipe.
	inboxBytes = 32 << 20
)

// line is one line that the program printed, without its end.
type line struct {
	data []byte // its taker's own
	cut  bool   // it was longer than maxLine
}

// inbox cuts a program's output into lines and keeps them in order until they
// are taken. Write and close belong to the program's side, take to the turn's.
type inbox struct {
	ready chan struct{} // holds a token while something waits
	heard atomic.Int64  // bytes so far: a sign of life

	mu      sync.Mutex
	room    sync.Cond
	lines   []line
	bytes   int
	deaf    bool   // what comes is thrown away
	part    []byte // of a line that has not ended
	cut     bool   // part is full
	maxLine int
}

// newInbox waits for lines. The room in it is bounded, so a program that prints
// faster than it is read is held up at its pipe, and not in our memory.
func newInbox() *inbox {
	b := &inbox{ready: make(chan struct{}, 1), maxLine: maxLine}
	b.room.L = &b.mu
	return b
}

// Write takes output in. It never fails, and waits for room.
func (b *inbox) Write(data []byte) (int, error) {
	b.heard.Add(int64(len(data)))
	b.mu.Lock()
	defer b.mu.Unlock()
	for rest := data; len(rest) > 0; {
		piece, after, ended := bytes.Cut(rest, []byte{'\n'})
		rest = after
		if free := b.maxLine - len(b.part); len(piece) > free {
			piece, b.cut = piece[:free], true
		}
		b.part = append(b.part, piece...)
		if ended {
			b.push()
		}
	}
	return len(data), nil
}

// push makes a line of the part. One line is taken however long it is, if it is
// alone.
func (b *inbox) push() {
	for !b.deaf && len(b.lines) > 0 && b.bytes+len(b.part) > inboxBytes {
		b.room.Wait()
	}
	if !b.deaf {
		b.lines = append(b.lines, line{data: b.part, cut: b.cut})
		b.bytes += len(b.part) + 1
	}
	b.part, b.cut = nil, false
	b.wake()
}

// wake never blocks: one pending wake stands for all lines that came since.
func (b *inbox) wake() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// close makes a line of what has no newline at its end. Nothing is written
// after it.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.part) > 0 {
		b.push()
	}
	b.wake()
}

// take returns all that waits, which may be nothing.
func (b *inbox) take() []line {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	b.lines, b.bytes = nil, 0
	b.room.Broadcast()
	return lines
}

// deafen throws away what waits and what still comes.
func (b *inbox) deafen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaf, b.lines, b.bytes = true, nil, 0
	b.room.Broadcast()
}
