package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coveyteam/covey/tasks/store"
)

var (
	// ErrFenced: another coordinator has begun since.
	ErrFenced = errors.New("another process has taken over the team")
	// ErrUnknown: whether something is stored cannot be found out now.
	ErrUnknown = errors.New("the servers do not answer, so whether it is stored is unknown")
	// ErrGap: the stream lacks what it has acknowledged.
	ErrGap = errors.New("the servers have lost acknowledged records, see covey nats repair")
)

// retryEvery is the time between two tries of a request.
const retryEvery = 20 * time.Millisecond

// chain appends messages to a stream as its only writer. Each message states the number that it
// must follow, so nothing is appended once another writer has appended anything.
type chain struct {
	stream   stream
	epoch    uint64
	patience time.Duration // how long append tries to find out an outcome; 0: it tries once
	now      func() time.Time
	pause    func(time.Duration)

	acked atomic.Pointer[time.Time] // when the servers acknowledged something last; nil: never

	mu   sync.Mutex
	last uint64 // number of the last message
	open *batch // whose outcome is unknown; nil: there is none
	end  error  // why nothing can be appended any more; nil: it can
}

// batch is messages that are stored together.
type batch struct {
	list  []message
	tried bool   // it may be stored, so it must not change
	seq   uint64 // number of the last message, once they are stored; 0: they are not, or it is unknown
}

// append stores a batch, all or nothing. After an error that wraps store.ErrRefused it is not stored.
// After ErrUnknown it may be: each later call first finds that out. Other errors are final.
func (c *chain) append(b *batch) error {
	if len(b.list) > maxParts {
		return fmt.Errorf("%w: it has more than %d MiB", store.ErrRefused, maxParts*maxPart>>20)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != nil && c.open != b {
		if err := c.send(c.open); err != nil {
			return err
		}
	}
	if b.seq > 0 {
		return nil
	}
	return c.send(b)
}

// send is append without what is open.
func (c *chain) send(b *batch) error {
	for i := range b.list {
		b.list[i].epoch = c.epoch
	}
	b.tried = true
	begun := c.now()
	for c.end == nil {
		seq, err := c.stream.publish(context.Background(), b.list, c.last)
		if errors.Is(err, errOther) {
			seq, err = c.stored(b.list)
		}
		switch {
		case err == nil:
			now := c.now()
			c.last, b.seq, c.open = seq, seq, nil
			c.acked.Store(&now)
			return nil
		case errors.Is(err, ErrFenced):
			c.end = err
			return err
		case errors.Is(err, store.ErrRefused) && c.open == nil: // else an earlier try may still be stored
			return err
		}
		c.open = b
		if c.now().Sub(begun) >= c.patience {
			return c.unknown(err)
		}
		c.pause(retryEvery)
	}
	return c.end
}

// again repeats a request, which must do no harm if it is carried out twice, until the servers answer it.
func (c *chain) again(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		c.pause(retryEvery)
	}
}

// stored finds out whether the messages that follow the last one are these. Either an earlier try
// has stored them, or another writer has begun. Its other errors mean that it cannot be known yet.
func (c *chain) stored(list []message) (last uint64, err error) {
	for i, want := range list {
		have, err := c.stream.get(context.Background(), c.last+1+uint64(i))
		if errors.Is(err, errNone) && i > 0 {
			return 0, ErrFenced // a batch is stored as a whole
		}
		if err != nil {
			return 0, err
		}
		if have.epoch != want.epoch || have.subject != want.subject || !bytes.Equal(have.data, want.data) {
			return 0, ErrFenced
		}
	}
	return c.last + uint64(len(list)), nil
}

// unknown returns the error for messages whose outcome cannot be found out.
func (c *chain) unknown(err error) error {
	if _, last, failed := c.stream.bounds(context.Background()); failed == nil && last < c.last {
		c.end = fmt.Errorf("%w: it ends at message %d, and message %d was acknowledged", ErrGap, last, c.last)
		return c.end
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// parts splits content into messages that the servers take.
func parts(subject string, content []byte) (list []message) {
	for ; len(content) > maxPart; content = content[maxPart:] {
		list = append(list, message{subject: subject, data: content[:maxPart], more: true})
	}
	return append(list, message{subject: subject, data: content})
}

// follow reads the messages with the numbers from one up to another, in order, and joins those that
// are parts. It waits for servers that are behind. gaps says whether numbers may be missing.
func follow(
	ctx context.Context, c *chain, from, to uint64, gaps bool, each func(message) error,
) error {
	var whole []byte
	for next := from; next <= to; {
		before := next
		var wrong error
		err := c.stream.read(ctx, next, func(m message) error {
			switch {
			case wrong != nil || m.seq > to:
				return wrong
			case m.seq != next && !gaps:
				wrong = fmt.Errorf("%w: message %d is missing", ErrGap, next)
				return wrong
			}
			next = m.seq + 1
			if whole = append(whole, m.data...); m.more {
				return nil
			}
			m.data, whole = whole, nil
			wrong = each(m)
			return wrong
		})
		switch {
		case wrong != nil:
			return wrong
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", ErrUnknown, errors.Join(context.Cause(ctx), err))
		case next == before:
			c.pause(retryEvery)
		}
	}
	return nil
}
