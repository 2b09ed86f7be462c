package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/kv"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// EventType says what an Event tells of. The names are the journal's.
type EventType string

// The types of events.
const (
	TaskEvent      EventType = "task"              // Data is a Change
	MessageEvent   EventType = "message"           // Data is a Message
	DeliveredEvent EventType = "message_delivered" // Data is a Delivery
	MergeEvent     EventType = "merge"             // Data is a Merge
	RequestEvent   EventType = "request"           // Data is a Request, when it is made and when it is closed
)

// Event is something that was committed and has to be told to others.
type Event struct {
	ID     uint64 // rises by one from event to event; never reused
	Time   time.Time
	Type   EventType
	Member string          // who did it; empty: covey
	Data   json.RawMessage // by Type; fields of DESIGN 7
}

// Op says what happened to a task.
type Op string

// What can happen to a task.
const (
	Created Op = "created"
	Claimed Op = "claimed" // it is in progress, by claim or by update
	Updated Op = "updated"
	// TaskCompleted: the task is completed now.
	TaskCompleted Op = "completed"
	Released      Op = "released" // it was in progress and is pending again
	Deleted       Op = "deleted"
	// Refused: hooks did not agree to its creation (its status is proposed
	// then, and it is gone) or to its completion.
	Refused Op = "refused"
	// Awaits: its completion waits for somebody's answer; its gates agree but for that.
	Awaits Op = "awaits"
)

// Change is the Data of a TaskEvent.
type Change struct {
	Op     Op       `json:"op"`
	Task   Task     `json:"task"` // after the change; as it last was when it is gone
	By     string   `json:"by"`
	Reason string   `json:"reason,omitempty"` // of a refusal or release; of Awaits whose answer it is
	Fields []string `json:"fields,omitempty"` // what an update changed
}

// Delivery is the Data of a DeliveredEvent.
type Delivery struct {
	ID string `json:"id"`
}

// A read of the outbox ends after this many events or bytes, whichever comes
// first, because callers hold all of it in memory.
const (
	eventsDefault  = 1000
	eventsMaxBytes = 16 << 20
)

// Outbox is what has happened and was not carried on yet: a queue with one reader.
type Outbox struct {
	db   *kv.DB
	mail *mail.Boxes
}

// Events gives the events in the outbox with an ID above after, in order: at
// most limit (1,000 when limit is not positive), and fewer when they are big,
// but at least one if there is any.
func (o *Outbox) Events(ctx context.Context, after uint64, limit int) ([]Event, error) {
	if limit <= 0 {
		limit = eventsDefault
	}
	return kv.View(ctx, o.db, "read the outbox", func(r kv.Reader) ([]Event, error) {
		list := []Event{}
		size := 0
		if after+1 == 0 {
			return list, nil
		}
		c := r.Bucket(kv.OutboxBucket).Cursor()
		for k, v := c.Seek(kv.NumKey(after + 1)); k != nil && len(list) < limit && size < eventsMaxBytes; k, v = c.Next() {
			e, err := readEvent(r.Blobs(), kv.LastNum(k), v)
			if err != nil {
				return nil, err
			}
			size += len(e.Data)
			list = append(list, e)
		}
		return list, nil
	})
}

// Wake gives a channel that holds a token whenever events may have come into
// the outbox since it was last emptied, from the moment of Open. There is one
// channel for all callers, and it is never closed.
func (o *Outbox) Wake() <-chan struct{} { return o.db.Wake() }

// Settle removes the events up to and including upTo from the outbox: they
// have been carried on for good.
func (o *Outbox) Settle(ctx context.Context, upTo uint64) error { return o.db.Settle(ctx, upTo) }

// LastEvent gives the ID of the last event that the store has ever had. A journal that
// has lines of later ones knows of changes that the store has lost.
func (o *Outbox) LastEvent(ctx context.Context) (uint64, error) {
	return kv.View(ctx, o.db, "last event", func(r kv.Reader) (uint64, error) { return r.Count(kv.EventCounter), nil })
}

// eventRecord is an event as stored: one of its payloads is set; see kv.Event.
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

// readEvent decodes a stored event and writes its Data.
func readEvent(b *kv.Blobs, id uint64, stored []byte) (Event, error) {
	rec, err := kv.Decode[eventRecord](fmt.Sprintf("event %d", id), stored)
	if err != nil {
		return Event{}, err
	}
	e := Event{ID: id, Time: rec.Time, Member: rec.Member}
	var data any
	if e.Type, data, err = rec.open(b); err != nil {
		return Event{}, fmt.Errorf("event %d: %w", id, err)
	}
	if data == nil {
		return Event{}, fmt.Errorf("%w: event %d tells nothing", ErrCorrupt, id)
	}
	if e.Data, err = json.Marshal(data); err != nil {
		return Event{}, fmt.Errorf("event %d: encode: %w", id, err)
	}
	return e, nil
}

// open gives what the event tells; nil data: nothing.
func (r *eventRecord) open(b *kv.Blobs) (kind EventType, data any, err error) {
	switch {
	case r.Change != nil && r.Change.Task != nil:
		t, err := r.Change.Task.Open(b)
		return TaskEvent, Change{Op: r.Change.Op, Task: t, By: r.Change.By, Reason: r.Change.Reason, Fields: r.Change.Fields}, err
	case r.Message != nil:
		m, err := r.Message.Open(b)
		return MessageEvent, m, err
	case r.Delivered != "":
		return DeliveredEvent, Delivery{ID: r.Delivered}, nil
	case r.Merge != nil:
		return MergeEvent, r.Merge, nil
	case r.Request != nil:
		q, err := r.Request.Unpack(b)
		return RequestEvent, q, err
	}
	return "", nil, nil
}

// tell puts an event about a task into the outbox.
func (t *txn) tell(a actors.Actor, c changeRecord) {
	c.By = a.Name
	c.Task = t.withBlocks(c.Task)
	t.tx.Emit(kv.Event{Member: a.Name, Change: &c})
}

// checkOutbox decodes the events. Their order is that of the bucket.
func checkOutbox(c *kv.Checker) {
	last := c.Count(kv.EventCounter)
	c.Bucket(kv.OutboxBucket).Each(nil, func(k, v []byte) bool {
		id := kv.LastNum(k)
		if len(k) != 8 || id == 0 || id > last {
			c.Fault("event %x of %d", k, last)
		}
		rec, err := kv.Decode[eventRecord](fmt.Sprintf("event %d", id), v)
		if err != nil {
			c.Fault("%v", err)
			return true
		}
		// Such an event could never become a journal line, and the pump would
		// stop at it for good.
		if rec.Change == nil && rec.Message == nil && rec.Delivered == "" && rec.Merge == nil && rec.Request == nil {
			c.Fault("event %d tells nothing", id)
		}
		held, err := kv.EventFiles(v)
		if err != nil {
			c.Fault("%v", err)
		}
		c.Needs(kv.Place{Bucket: kv.OutboxBucket, Key: k}, held)
		return true
	})
}
