package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
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

// The outbox is a queue with one reader. What is read stays until it is
// settled, so an event is told at least once; the reader, who knows the last ID
// that it has on disk, makes that exactly once.

// A read of the outbox ends after this many events or bytes, whichever comes
// first, because callers hold all of it in memory.
const (
	eventsDefault  = 1000
	eventsMaxBytes = 16 << 20
)

// Events gives the events in the outbox with an ID above after, in order: at
// most limit (1,000 when limit is not positive), and fewer when they are big,
// but at least one if there is any.
func (s *Store) Events(ctx context.Context, after uint64, limit int) ([]Event, error) {
	if limit <= 0 {
		limit = eventsDefault
	}
	var list []Event
	err := s.view(ctx, func(r reader) error {
		var err error
		list, err = r.events(after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return list, nil
}

// events reads until the count or the size is reached.
func (r reader) events(after uint64, limit int) ([]Event, error) {
	list := []Event{}
	size := 0
	if after+1 == 0 {
		return list, nil
	}
	c := r.bucket(bucketOutbox).Cursor()
	for k, v := c.Seek(numKey(after + 1)); k != nil && len(list) < limit && size < eventsMaxBytes; k, v = c.Next() {
		e, err := r.event(lastNum(k), v)
		if err != nil {
			return nil, err
		}
		size += len(e.Data)
		list = append(list, e)
	}
	return list, nil
}

// event decodes a stored event and writes its Data.
func (r reader) event(id uint64, stored []byte) (Event, error) {
	rec, err := decode[eventRecord](fmt.Sprintf("event %d", id), stored)
	if err != nil {
		return Event{}, err
	}
	e := Event{ID: id, Time: rec.Time, Member: rec.Member}
	var data any
	switch {
	case rec.Change != nil && rec.Change.Task != nil:
		e.Type = TaskEvent
		data, err = rec.Change.open(r.files)
	case rec.Message != nil:
		e.Type = MessageEvent
		data, err = rec.Message.open(r.files)
	case rec.Delivered != "":
		e.Type = DeliveredEvent
		data = Delivery{ID: rec.Delivered}
	case rec.Merge != nil:
		e.Type = MergeEvent
		data = rec.Merge
	case rec.Request != nil:
		e.Type = RequestEvent
		data, err = rec.Request.open(r.files)
	default:
		return Event{}, fmt.Errorf("%w: event %d tells nothing", ErrCorrupt, id)
	}
	if err != nil {
		return Event{}, fmt.Errorf("event %d: %w", id, err)
	}
	if e.Data, err = json.Marshal(data); err != nil {
		return Event{}, fmt.Errorf("event %d: encode: %w", id, err)
	}
	return e, nil
}

func (c *changeRecord) open(b *blobs) (Change, error) {
	t, err := c.Task.open(b)
	return Change{Op: c.Op, Task: t, By: c.By, Reason: c.Reason, Fields: c.Fields}, err
}

// Settle removes the events up to and including upTo from the outbox: they
// have been carried on for good.
func (s *Store) Settle(ctx context.Context, upTo uint64) error {
	c := &job{op: "settle events"}
	c.run = func(t *txn) error { return t.settle(upTo) }
	return s.submit(ctx, c)
}

// settle collects first and deletes then, because a bbolt cursor must not see
// its bucket change.
func (t *txn) settle(upTo uint64) error {
	bucket := t.bucket(bucketOutbox)
	type entry struct {
		key  []byte
		held []blobRef
	}
	var gone []entry
	c := bucket.Cursor()
	for k, v := c.First(); k != nil && lastNum(k) <= upTo; k, v = c.Next() {
		e := entry{key: bytes.Clone(k)}
		if holdsFiles(v) {
			rec, err := decode[eventRecord]("event", v)
			if err != nil {
				return err
			}
			e.held = rec.blobs()
		}
		gone = append(gone, e)
	}
	for _, e := range gone {
		t.erase(place{bucketOutbox, e.key}, e.held)
	}
	return nil
}

// holdsFiles says whether a stored record may refer to payload files, without
// decoding it: within a JSON string the quotes would be escaped.
func holdsFiles(record []byte) bool { return bytes.Contains(record, []byte(`"blob":"`)) }

// emit puts an event into the outbox.
func (t *txn) emit(e eventRecord) {
	t.counts.event++
	t.wrote = true
	e.Time = t.now
	t.store(place{bucketOutbox, numKey(t.counts.event)}, &e, e.blobs(), nil)
}

// tell puts an event about a task into the outbox.
func (t *txn) tell(a Actor, c changeRecord) {
	c.By = a.Name
	c.Task = t.withBlocks(c.Task)
	t.emit(eventRecord{Member: a.Name, Change: &c})
}
