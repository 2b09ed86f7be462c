package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks/kv"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Refilled says what Refill could make up for.
type Refilled struct {
	Tasks    []string // ids of the tasks that are as their last event has them, in order
	Messages int      // that are in a mailbox again, or out of it
	Unknown  []string // what the other events are about, for people: each thing once
}

// Refill makes changes again that the store has lost and somebody else has kept the
// events of: tasks and mail become as the events have them, without a new event. Events
// that the store knows of are passed over, and no event will get the number of one of
// these. What no event tells (receipts, verdicts, values) stays lost.
func (o *Outbox) Refill(ctx context.Context, list []Event) (Refilled, error) {
	c := o.db.Job("refill")
	list = slices.SortedFunc(slices.Values(list), func(a, b Event) int { return cmp.Compare(a.ID, b.ID) })
	steps := make([]refillStep, len(list))
	for i, e := range list {
		var err error
		if steps[i], err = newRefillStep(c, e); err != nil {
			return Refilled{}, c.Abandon(err)
		}
	}
	return submit(ctx, c, func(t *kv.Tx) (Refilled, error) { return o.refill(t, steps) })
}

// refillStep is one event, packed: at most one of task, message and delivered is set.
type refillStep struct {
	id        uint64
	op        Op
	task      *taskRecord
	message   *mail.Record
	member    string
	delivered string
	about     string // what an event is about that is not made up for
	request   json.RawMessage
}

// newRefillStep reads an event. One that cannot be read, or says too little, is a step
// that does nothing but count.
//
// c collects the files that long texts are packed into, so that Refill can remove them
// all if one event stops it.
func newRefillStep(c *kv.Job, e Event) (refillStep, error) {
	step := refillStep{id: e.ID, member: e.Member, about: e.about()}
	switch e.Type {
	case TaskEvent:
		var change Change
		if json.Unmarshal(e.Data, &change) != nil || change.Op == Refused || change.Op == Awaits {
			return step, nil
		}
		rec, err := packTask(c, change.Task)
		step.op, step.task = change.Op, rec
		return step, err
	case MessageEvent:
		var m mail.Message
		if json.Unmarshal(e.Data, &m) != nil || m.ID == "" || m.Seq == 0 {
			return step, nil
		}
		rec, err := mail.Repack(c, m)
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
			return fmt.Sprintf("merge %s of %s", kv.Clip(m.ID), kv.Clip(m.Branch))
		}
	case RequestEvent:
		var r requests.Request
		if json.Unmarshal(e.Data, &r) == nil && r.ID != "" {
			return fmt.Sprintf("request %s of %s (%s)", kv.Clip(r.ID), kv.Clip(r.Member), kv.Clip(string(r.Kind)))
		}
	}
	return fmt.Sprintf("event %d (%s)", e.ID, kv.Clip(string(e.Type)))
}

// packTask makes a record of a task as events have it; nil for what is no task.
//
// Blocks is dropped because the store derives it from the others' BlockedBy. An event
// that has no version gets the first one.
func packTask(c *kv.Job, task Task) (*taskRecord, error) {
	rec := &taskRecord{Task: task}
	if n := rec.number(); n == 0 || !task.Status.open() && task.Status != Completed {
		return nil, nil
	}
	rec = rec.clone()
	rec.Blocks, rec.Version = nil, max(rec.Version, 1)
	if err := rec.pack(c, task.Description, task.Metadata); err != nil {
		return nil, fmt.Errorf("task %s: %w", task.ID, err)
	}
	return rec, nil
}

// refill applies the steps that are new.
//
// The events are in order and each sets the counter, so a refill that is done twice, or
// that overlaps what the store has, changes nothing the second time.
func (o *Outbox) refill(t *kv.Tx, steps []refillStep) (Refilled, error) {
	var out Refilled
	touched := map[string]bool{}
	for _, step := range steps {
		if step.id <= t.Count(kv.EventCounter) {
			continue
		}
		var err error
		switch {
		case step.task != nil:
			touched[step.task.ID] = true
			err = changing(t).refillTask(step.op, step.task)
		case step.message != nil:
			out.Messages++
			mail.Restore(t, step.message)
		case step.delivered != "":
			out.Messages++
			_, err = o.mail.Remove(t, step.member, step.delivered)
		default:
			requests.Skip(t, step.request)
			out.Unknown = append(out.Unknown, step.about)
		}
		if err != nil {
			return Refilled{}, fmt.Errorf("event %d: %w", step.id, err)
		}
		t.Raise(kv.EventCounter, step.id)
	}
	for _, n := range sortedIDs(touched) {
		out.Tasks = append(out.Tasks, kv.FormatID(n))
	}
	out.Unknown = kv.Unique(out.Unknown)
	return out, nil
}

// sortedIDs puts ids of tasks in order.
func sortedIDs(ids map[string]bool) []uint64 {
	list := make([]uint64, 0, len(ids))
	for id := range ids {
		n, _ := kv.ParseID(id)
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
	t.tx.Raise(kv.TaskCounter, rec.number())
	if proposed, err := t.loadFrom(bucketProposed, rec.ID); err == nil {
		t.tx.Erase(proposed.proposedPlace(), proposed.Files.Blobs())
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
	losses{t}.regain(rec)
	for _, n := range t.Bucket(bucketDeps).Numbers(kv.NumKey(rec.number()), 0) {
		t.tx.Mark(bucketWaits, kv.PairKey(n, rec.number()), rec.Status != Completed)
		dependent, err := t.load(kv.FormatID(n))
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
	for _, n := range t.Bucket(bucketDeps).Numbers(kv.NumKey(was.number()), 0) {
		dependent, err := t.load(kv.FormatID(n))
		if err != nil {
			t.tx.Fail(err)
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
	t.tx.Mark(bucketReady, kv.NumKey(was.number()), false)
	t.tx.Erase(was.place(), was.Files.Blobs())
}
