package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Refilled says what Refill could make up for.
type Refilled struct {
	Tasks    []string // ids of the tasks that are as their last event has them, in order
	Messages int      // that are in a mailbox again, or out of it
	Unknown  []string // what the other events are about, for people: each thing once
}

// LastEvent gives the ID of the last event that the store has ever had. A journal that
// has lines of later ones knows of changes that the store has lost.
func (s *Store) LastEvent(ctx context.Context) (uint64, error) {
	var last uint64
	err := s.view(ctx, func(r reader) error {
		last = readCounters(r.bucket(bucketMeta)).event
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("last event: %w", err)
	}
	return last, nil
}

// Refill makes changes again that the store has lost and somebody else has kept the
// events of: tasks and mail become as the events have them, without a new event. Events
// that the store knows of are passed over, and no event will get the number of one of
// these. What no event tells (receipts, verdicts, values) stays lost.
func (s *Store) Refill(ctx context.Context, list []Event) (Refilled, error) {
	c := &job{op: "refill"}
	list = slices.SortedFunc(slices.Values(list), func(a, b Event) int { return cmp.Compare(a.ID, b.ID) })
	steps := make([]refillStep, len(list))
	for i, e := range list {
		step, err := s.refillStep(c, e)
		if err != nil {
			return Refilled{}, s.abandon(c, err)
		}
		steps[i] = step
	}
	var out Refilled
	c.run = func(t *txn) error {
		out = Refilled{}
		return t.refill(steps, &out)
	}
	if err := s.submit(ctx, c); err != nil {
		return Refilled{}, err
	}
	return out, nil
}

// refillStep is one event, packed: at most one of task, message and delivered is set.
type refillStep struct {
	id        uint64
	op        Op
	task      *taskRecord
	message   *messageRecord
	member    string
	delivered string
	about     string // what an event is about that is not made up for
	request   json.RawMessage
}

// refillStep reads an event. One that cannot be read, or says too little, is a step
// that does nothing but count.
//
// c collects the files that long texts are packed into, so that Refill can remove them
// all if one event stops it.
func (s *Store) refillStep(c *job, e Event) (refillStep, error) {
	step := refillStep{id: e.ID, member: e.Member, about: e.about()}
	switch e.Type {
	case TaskEvent:
		var change Change
		if json.Unmarshal(e.Data, &change) != nil || change.Op == Refused || change.Op == Awaits {
			return step, nil
		}
		rec, err := s.packTask(c, change.Task)
		step.op, step.task = change.Op, rec
		return step, err
	case MessageEvent:
		var m Message
		if json.Unmarshal(e.Data, &m) != nil || m.ID == "" || m.Seq == 0 {
			return step, nil
		}
		rec, err := s.packAgain(c, m)
		step.message = rec
		return step, err
	case RequestEvent:
		step.request = e.Data
	case DeliveredEvent:
		var d Delivery
		if json.Unmarshal(e.Data, &d) == nil {
			step.delivered = d.ID
		}
	}
	return step, nil
}

// about names what an event tells of, in a few words.
func (e Event) about() string {
	switch e.Type {
	case MergeEvent:
		var m Merge
		if json.Unmarshal(e.Data, &m) == nil && m.ID != "" {
			return fmt.Sprintf("merge %s of %s", clip(m.ID), clip(m.Branch))
		}
	case RequestEvent:
		var r Request
		if json.Unmarshal(e.Data, &r) == nil && r.ID != "" {
			return fmt.Sprintf("request %s of %s (%s)", clip(r.ID), clip(r.Member), clip(string(r.Kind)))
		}
	}
	return fmt.Sprintf("event %d (%s)", e.ID, clip(string(e.Type)))
}

// packTask makes a record of a task as events have it; nil for what is no task.
//
// Blocks is dropped because the store derives it from the others' BlockedBy. An event
// that has no version gets the first one.
func (s *Store) packTask(c *job, task Task) (*taskRecord, error) {
	rec := &taskRecord{Task: task}
	if n := rec.number(); n == 0 || !task.Status.open() && task.Status != Completed {
		return nil, nil
	}
	rec = rec.clone()
	rec.Blocks, rec.Version = nil, max(rec.Version, 1)
	description, err := s.pack(c, task.Description)
	if err != nil {
		return nil, fmt.Errorf("description of task %s: %w", task.ID, err)
	}
	rec.set("description", description)
	metadata, err := s.packMetadata(c, task.Metadata)
	if err != nil {
		return nil, fmt.Errorf("metadata of task %s: %w", task.ID, err)
	}
	_, err = rec.mergeMetadata(metadata)
	return rec, err
}

// packAgain makes a record of a message as events have it.
func (s *Store) packAgain(c *job, m Message) (*messageRecord, error) {
	rec := &messageRecord{Message: m}
	text, err := s.pack(c, m.Text)
	if err != nil {
		return nil, fmt.Errorf("text of message %s: %w", m.ID, err)
	}
	if rec.Text = ""; text.file == nil {
		rec.Text = text.text
	}
	rec.set("text", text)
	data, err := s.packJSON(c, "message data", m.Data)
	if err != nil {
		return nil, err
	}
	rec.Data = nil
	rec.set("data", data)
	return rec, nil
}

// refill applies the steps that are new.
//
// The events are in order and each sets the counter, so a refill that is done twice, or
// that overlaps what the store has, changes nothing the second time.
func (t *txn) refill(steps []refillStep, out *Refilled) error {
	touched := map[string]bool{}
	for _, step := range steps {
		if step.id <= t.counts.event {
			continue
		}
		var err error
		switch {
		case step.task != nil:
			touched[step.task.ID] = true
			err = t.refillTask(step.op, step.task)
		case step.message != nil:
			out.Messages++
			t.refillMessage(step.message)
		case step.delivered != "":
			out.Messages++
			err = t.takeOut(step.member, step.delivered)
		default:
			t.countRequest(step.request)
			out.Unknown = append(out.Unknown, step.about)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", step.id, err)
		}
		t.counts.event = step.id
		t.puts++ // the counter alone is worth a commit
	}
	for _, n := range sortedIDs(touched) {
		out.Tasks = append(out.Tasks, formatID(n))
	}
	out.Unknown = unique(out.Unknown)
	return nil
}

// sortedIDs puts ids of tasks in order.
func sortedIDs(ids map[string]bool) []uint64 {
	list := make([]uint64, 0, len(ids))
	for id := range ids {
		n, _ := parseID(id)
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// refillTask makes a task what it was, or takes it out.
//
// After save the dependents are looked at one by one: whether they wait is kept in an
// index of its own, which an event of this task says nothing about.
func (t *txn) refillTask(op Op, rec *taskRecord) error {
	was, err := t.load(rec.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	t.counts.task = max(t.counts.task, rec.number())
	if proposed, err := t.loadFrom(bucketProposed, rec.ID); err == nil {
		t.erase(proposed.proposedPlace(), proposed.blobs())
	}
	if op == Deleted {
		if was != nil {
			t.takeApart(was)
		}
		return nil
	}
	// A blocker that is not there was deleted in an event of its own, or is lost with it.
	rec = rec.clone()
	rec.BlockedBy = slices.DeleteFunc(rec.BlockedBy, func(b string) bool { return !t.exists(b) })
	t.save(was, rec)
	t.regain(rec)
	for _, n := range suffixes(t.bucket(bucketDeps), numKey(rec.number()), 0) {
		t.mark(bucketWaits, pairKey(n, rec.number()), rec.Status != Completed)
		dependent, err := t.load(formatID(n))
		if err != nil {
			return err
		}
		t.indexReady(dependent)
	}
	return nil
}

// takeApart removes a task and what leads to it, and tells nobody.
//
// It is what Delete does to the indexes, without Delete's events and without a message
// to anybody: all of them were told when it happened.
func (t *txn) takeApart(was *taskRecord) {
	for _, n := range suffixes(t.bucket(bucketDeps), numKey(was.number()), 0) {
		dependent, err := t.load(formatID(n))
		if err != nil {
			t.fail(err)
			return
		}
		rec := dependent.clone()
		rec.BlockedBy = without(rec.BlockedBy, was.ID)
		t.save(dependent, rec)
	}
	for _, blocker := range was.BlockedBy {
		t.unlink(was.number(), blocker)
	}
	t.indexOwner(was, nil)
	t.mark(bucketReady, numKey(was.number()), false)
	t.erase(was.place(), was.blobs())
}

// refillMessage puts a message where it was. That it has been delivered since is an
// event of its own.
//
// The counter of the mail is raised first, so that no new message gets a number of one
// that comes back.
func (t *txn) refillMessage(m *messageRecord) {
	t.counts.mail = max(t.counts.mail, m.Seq)
	idKey := nameKey(m.To, []byte(m.ID)...)
	if t.bucket(bucketMailID).Get(idKey) != nil {
		return
	}
	t.store(place{bucketMail, nameNumKey(m.To, m.Seq)}, m, m.blobs(), nil)
	t.put(bucketMailID, idKey, numKey(m.Seq))
	t.add(bucketUnread, nameKey(m.To), 1)
}
