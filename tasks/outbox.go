package tasks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"
)

// Event is a committed change that others have to be told about.
type Event struct {
	ID     uint64 // rises by one from event to event; never reused
	Time   time.Time
	Member string // the actor; empty: covey
	// Data is a Change, an actors.Message, a Delivery, a requests.Request, which is told of when it
	// is made and when it is closed, or a Merge.
	Data any
}

// Op describes what happened to a task.
type Op string

// What can happen to a task.
const (
	Created Op = "created"
	Claimed Op = "claimed" // it is in progress, by a claim or an update
	Updated Op = "updated"
	// TaskCompleted: the task is completed now.
	TaskCompleted Op = "completed"
	Released      Op = "released" // it went from in progress back to pending
	Deleted       Op = "deleted"
	// Refused: hooks did not agree to its creation (its status is proposed, and it is
	// gone) or to its completion.
	Refused Op = "refused"
	// Awaits: its completion waits for an answer; all other gates agree.
	Awaits Op = "awaits"
)

// Change is what happened to a task.
type Change struct {
	Op     Op       `json:"op"`
	Task   Task     `json:"task"` // after the change; if it is gone: as it last was
	By     string   `json:"by"`
	Reason string   `json:"reason,omitempty"` // of a refusal or release; for Awaits, who has to answer
	Fields []string `json:"fields,omitempty"` // what an update changed
}

// Delivery is the delivery of a message.
type Delivery struct {
	ID string `json:"id"`
}

// A read of the outbox ends after this many events or bytes, whichever comes
// first, because callers hold all of it in memory.
const (
	eventsDefault  = 1000
	eventsMaxBytes = 16 << 20
)

// Outbox is the queue of events that were not forwarded yet. It has one reader that removes them;
// others may read them, too.
type Outbox struct {
	db   *store.DB
	mail *mail.Boxes

	mu      sync.Mutex
	decoded map[uint64]Event // that were read and not removed yet, for the next who reads them
}

// A read event is kept if it is at most this big, and if there are not more than this many.
const (
	keptSize   = 16 << 10
	keptEvents = 256
)

// Events returns the events with an ID above after, in order: at most limit (1,000 if
// limit is not positive), fewer if they are big, but at least one if there is any.
func (o *Outbox) Events(ctx context.Context, after uint64, limit int) ([]Event, error) {
	if limit <= 0 {
		limit = eventsDefault
	}
	return store.View(ctx, o.db, "read the outbox", func(r store.Reader) ([]Event, error) {
		list := []Event{}
		size := 0
		if after+1 == 0 {
			return list, nil
		}
		c := r.Bucket(store.OutboxBucket).Cursor()
		for k, v := c.Seek(store.NumKey(after + 1)); k != nil && len(list) < limit && size < eventsMaxBytes; k, v = c.Next() {
			e, err := o.read(r.Blobs(), store.LastNum(k), v)
			if err != nil {
				return nil, err
			}
			files, err := store.EventFiles(v)
			if err != nil {
				return nil, fmt.Errorf("event %d: the files of its texts: %w", e.ID, err)
			}
			for size += len(v); len(files) > 0; files = files[1:] {
				size += int(files[0].Size)
			}
			list = append(list, e)
		}
		return list, nil
	})
}

// read returns an event. The journal and the State read each one, so it is decoded once for both, who
// must not change it.
func (o *Outbox) read(b *store.Blobs, id uint64, stored []byte) (Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e, ok := o.decoded[id]; ok {
		return e, nil
	}
	e, err := readEvent(b, id, stored)
	if err == nil && len(stored) <= keptSize && len(o.decoded) < keptEvents {
		if o.decoded == nil {
			o.decoded = map[uint64]Event{}
		}
		o.decoded[id] = e
	}
	return e, err
}

// Wake returns a channel that holds a token whenever events may have been added since
// the outbox was last emptied, from the moment of Open. All callers share the
// channel, and it is never closed.
func (o *Outbox) Wake() <-chan struct{} { return o.db.Wake() }

// Version returns a number that changes with every commit, for who reads the outbox besides its reader.
func (o *Outbox) Version() uint64 { return o.db.Version() }

// Remove deletes the events up to and including upTo, which the caller has forwarded.
func (o *Outbox) Remove(ctx context.Context, upTo uint64) error {
	o.mu.Lock()
	o.decoded = nil
	o.mu.Unlock()
	return o.db.RemoveEvents(ctx, upTo)
}

// LastEvent returns the ID of the last event that the store ever had. A journal with
// lines of later events knows changes that the store has lost.
func (o *Outbox) LastEvent(ctx context.Context) (uint64, error) {
	return store.View(ctx, o.db, "last event", func(r store.Reader) (uint64, error) { return r.Count(store.EventCounter), nil })
}

// eventRecord is an event as stored; exactly one payload is set. See store.Event.
type eventRecord struct {
	Time      time.Time        `json:"time"`
	Member    string           `json:"member"`
	Change    *changeRecord    `json:"change"`
	Message   *mail.Record     `json:"message"`
	Delivered string           `json:"delivered"`
	Merge     *Merge           `json:"merge"`
	Request   *requests.Record `json:"request"`
}

// changeRecord is a Change as stored.
type changeRecord struct {
	Op     Op          `json:"op"`
	Task   *taskRecord `json:"task"`
	By     string      `json:"by"`
	Reason string      `json:"reason,omitempty"`
	Fields []string    `json:"fields,omitempty"`
}

// readEvent decodes a stored event.
func readEvent(b *store.Blobs, id uint64, stored []byte) (Event, error) {
	rec, err := store.Decode[eventRecord](fmt.Sprintf("event %d", id), stored)
	if err != nil {
		return Event{}, err
	}
	data, err := rec.open(b)
	if err != nil {
		return Event{}, fmt.Errorf("event %d: %w", id, err)
	}
	if data == nil {
		return Event{}, fmt.Errorf("%w: event %d has no payload", ErrCorrupt, id)
	}
	return Event{ID: id, Time: rec.Time, Member: rec.Member, Data: data}, nil
}

// open returns the Data of the event; nil if it has no payload.
func (r *eventRecord) open(b *store.Blobs) (any, error) {
	switch {
	case r.Change != nil && r.Change.Task != nil:
		t, err := r.Change.Task.Open(b)
		return Change{Op: r.Change.Op, Task: t, By: r.Change.By, Reason: r.Change.Reason, Fields: r.Change.Fields}, err
	case r.Message != nil:
		return r.Message.Open(b)
	case r.Delivered != "":
		return Delivery{ID: r.Delivered}, nil
	case r.Merge != nil:
		return *r.Merge, nil
	case r.Request != nil:
		return r.Request.Unpack(b)
	}
	return nil, nil
}

// emit puts an event about a task into the outbox.
func (t *txn) emit(a actors.Actor, c changeRecord) {
	c.By = a.Name
	c.Task = t.withBlocks(c.Task)
	t.tx.Emit(store.Event{Member: a.Name, Change: &c})
}

// checkOutbox decodes the events.
func checkOutbox(c *store.Checker) {
	last := c.Count(store.EventCounter)
	for k, v := range c.Bucket(store.OutboxBucket).Each(nil) {
		id := store.LastNum(k)
		if len(k) != 8 || id == 0 || id > last {
			c.Fault("event %x of %d", k, last)
		}
		rec, err := store.Decode[eventRecord](fmt.Sprintf("event %d", id), v)
		if err != nil {
			c.Fault("%v", err)
			continue
		}
		// Such an event could never become a journal line, and the forwarder would
		// stop at it for good.
		if rec.Change == nil && rec.Message == nil && rec.Delivered == "" && rec.Merge == nil && rec.Request == nil {
			c.Fault("event %d has no payload", id)
		}
		held, err := store.EventFiles(v)
		if err != nil {
			c.Fault("%v", err)
		}
		c.Needs(store.Place{Bucket: store.OutboxBucket, Key: k}, held)
	}
}
