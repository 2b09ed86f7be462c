package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"
)

// Refilled describes what Refill has restored.
type Refilled struct {
	Tasks    []string // ids of the tasks that were restored to their last event, in order
	Messages int      // messages added to a mailbox, or removed from it
	Unknown  []string // what the remaining events are about, for people; without duplicates
}

// Refill repeats changes that the store has lost, from events that the caller has
// kept: tasks and mail become as the events describe them, without new events. Events
// that the store knows are skipped, and no new event gets the number of one of these.
// What no event describes (receipts, verdicts, values) stays lost.
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
	return submit(ctx, c, func(t *store.Tx) (Refilled, error) { return o.refill(t, steps) })
}

// refillStep is one event, packed: at most one of task, message and delivered is set.
type refillStep struct {
	id        uint64
	op        Op
	task      *taskRecord
	message   *mail.Record
	member    string
	delivered string
	about     string // what the event is about, if it cannot be restored
	request   string // id
}

// newRefillStep packs an event. An event that lacks what is needed becomes a step that advances the event counter and counts as unknown.
//
// c collects the files of long texts, so that Refill can remove all of them if one
// event fails.
func newRefillStep(c *store.Job, e Event) (refillStep, error) {
	step := refillStep{id: e.ID, member: e.Member, about: e.about()}
	switch data := e.Data.(type) {
	case Change:
		if data.Op == Refused || data.Op == Awaits {
			return step, nil
		}
		rec, err := packTask(c, data.Task)
		if err != nil {
			return step, fmt.Errorf("event %d: %w", e.ID, err)
		}
		step.op, step.task = data.Op, rec
	case mail.Message:
		if data.ID == "" || data.Seq == 0 {
			return step, nil
		}
		rec, err := mail.Repack(c, data)
		if err != nil {
			return step, fmt.Errorf("event %d: %w", e.ID, err)
		}
		step.message = rec
	case requests.Request:
		step.request = data.ID
	case Delivery:
		step.delivered = data.ID
	}
	return step, nil
}

// about describes the subject of an event in a few words.
func (e Event) about() string {
	switch data := e.Data.(type) {
	case Merge:
		return fmt.Sprintf("merge %s of %s", store.Clip(data.ID), store.Clip(data.Branch))
	case requests.Request:
		return fmt.Sprintf("request %s of %s (%s)", store.Clip(data.ID), store.Clip(data.Member), store.Clip(string(data.Kind)))
	}
	return fmt.Sprintf("event %d", e.ID)
}

// packTask makes a record of a task from an event, or returns nil if the event holds
// none.
//
// Blocks is dropped because the store derives it from the BlockedBy of the others. A
// task without version gets version 1.
func packTask(c *store.Job, task Task) (*taskRecord, error) {
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

// refill applies the new steps. The events are in order and each one sets the
// counter, so a refill that is repeated, or that overlaps what the store has, changes
// nothing the second time.
func (o *Outbox) refill(t *store.Tx, steps []refillStep) (Refilled, error) {
	var out Refilled
	touched := map[string]bool{}
	for _, step := range steps {
		if step.id <= t.Count(store.EventCounter) {
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
		t.Raise(store.EventCounter, step.id)
	}
	for _, n := range sortedIDs(touched) {
		out.Tasks = append(out.Tasks, store.FormatID(n))
	}
	out.Unknown = store.Unique(out.Unknown)
	return out, nil
}

// sortedIDs returns the numbers of task ids in order.
func sortedIDs(ids map[string]bool) []uint64 {
	list := make([]uint64, 0, len(ids))
	for id := range ids {
		n, _ := store.ParseID(id)
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// refillTask restores a task, or removes it. After save the dependents are checked
// one by one: whether they wait is in an index of its own, which save does not update
// for them.
func (t *txn) refillTask(op Op, rec *taskRecord) error {
	was, err := t.load(rec.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	t.tx.Raise(store.TaskCounter, rec.number())
	if proposed, err := t.loadFrom(bucketProposed, rec.ID); err == nil {
		t.tx.Erase(proposed.proposedPlace(), proposed.Files.Blobs())
	}
	if op == Deleted {
		if was != nil {
			t.dropTask(was)
		}
		return nil
	}
	// A blocker that does not exist was deleted by an event of its own, or is lost
	// too.
	rec = rec.clone()
	rec.BlockedBy = slices.DeleteFunc(rec.BlockedBy, func(b string) bool { return !t.exists(b) })
	t.save(was, rec)
	losses{t}.forget(rec)
	for _, n := range t.Bucket(bucketDeps).Numbers(store.NumKey(rec.number()), 0) {
		t.tx.Mark(bucketWaits, store.PairKey(n, rec.number()), rec.Status != Completed)
		dependent, err := t.load(store.FormatID(n))
		if err != nil {
			return err
		}
		t.indexReady(dependent)
	}
	return nil
}

// dropTask removes a task and all references to it. It changes the indexes as Delete
// does, but emits no events and sends no messages: that was done when the task was
// deleted.
func (t *txn) dropTask(was *taskRecord) {
	for _, n := range t.Bucket(bucketDeps).Numbers(store.NumKey(was.number()), 0) {
		dependent, err := t.load(store.FormatID(n))
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
	t.tx.Mark(bucketReady, store.NumKey(was.number()), false)
	t.tx.Erase(was.place(), was.Files.Blobs())
}
