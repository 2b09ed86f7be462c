package command

import (
	"bytes"
	"sync"
	"sync/atomic"
)

const (
	// maxLine is the longest line of a program, in bytes. A longer line is truncated: it
	// is no longer JSON, but still text.
	maxLine = 32 << 20
	// inboxBytes limits the bytes waiting in an inbox. A program that prints more has to
	// wait until there is room, as with any pipe.
	inboxBytes = 32 << 20
)

// line is one line that the program printed, without its end.
type line struct {
	data []byte // owned by the receiver
	cut  bool   // it was longer than maxLine
}

// inbox splits a program's output into lines and queues them. Write and close are called by
// the program's side, take by the turn's.
type inbox struct {
	ready chan struct{} // has a token while lines wait
	heard atomic.Int64  // bytes so far, as a sign of life

	mu      sync.Mutex
	room    sync.Cond
	lines   []line
	bytes   int
	deaf    bool   // input is discarded
	part    []byte // an incomplete line
	cut     bool   // part has reached maxLine
	maxLine int
}

// newInbox returns an empty inbox. Its size is limited, so that a program that prints faster
// than it is read waits at its pipe instead of filling our memory.
func newInbox() *inbox {
	b := &inbox{ready: make(chan struct{}, 1), maxLine: maxLine}
	b.room.L = &b.mu
	return b
}

// Write adds output. It waits for room and never fails.
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

// push queues part as a line when there is room. A single line may be larger than the
// inbox.
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

// wake signals that lines wait. It never blocks: one token stands for all lines.
func (b *inbox) wake() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// close queues the last line, if it has no newline. Nothing may be written afterwards.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.part) > 0 {
		b.push()
	}
	b.wake()
}

// drain returns all waiting lines, possibly none.
func (b *inbox) drain() []line {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	b.lines, b.bytes = nil, 0
	b.room.Broadcast()
	return lines
}

// deafen discards the waiting lines and all further input.
func (b *inbox) deafen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaf, b.lines, b.bytes = true, nil, 0
	b.room.Broadcast()
}
