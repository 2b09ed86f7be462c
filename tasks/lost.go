package tasks

import (
	"context"
	"fmt"
	"time"
)

// A task's epoch fences off who owned it before. Agents do not know epochs: their
// calls name a task and say what is to become of it. So the store remembers who had
// a task in progress when somebody else took it away, and refuses what that member
// then says of the task's status, until it has read that the task is not its own
// any more: what it says after that, it says knowing.

// lossRecord is a task that a member lost while it had it in progress. It stands in
// bucketLost until the member has read of it, or owns the task again.
type lossRecord struct {
	Task    string    `json:"task"`
	Member  string    `json:"member"`
	Epoch   uint64    `json:"epoch"` // under which the member had it
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
	Time    time.Time `json:"time"`
	Message string    `json:"message,omitempty"` // the notice that tells of it; empty: none is sent yet
}

// LossDeleted is the Status of a Loss whose task was deleted.
const LossDeleted Status = "deleted"

// Loss is the Data of a TaskLost message.
type Loss struct {
	TaskID  string `json:"taskId"`
	Subject string `json:"subject"`
	Status  Status `json:"status"`          // of the task by the time of the message; or LossDeleted
	Owner   string `json:"owner,omitempty"` // likewise
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by"` // empty: covey
}

// lose notes that was is taken from its owner, unless its owner did it itself.
//
// was and now are the task before and after the change. What the owner gave away itself
// is no loss, and neither is a task that was completed: there is nothing left to say.
func (t *txn) lose(a Actor, was, now *taskRecord, reason string) *lossRecord {
	taken := was.Status == InProgress && now.Status != Completed && now.Owner != was.Owner
	if !taken || was.Owner == a.Name {
		return nil
	}
	l := &lossRecord{
		Task: was.ID, Member: was.Owner, Epoch: was.Epoch, Reason: reason, By: a.Name, Time: t.now,
	}
	t.put(bucketLost, l.key(), t.encode(l))
	return l
}

func (l *lossRecord) key() []byte {
	n, _ := parseID(l.Task)
	return nameNumKey(l.Member, n)
}

// loseAndTell is lose for a member that goes on: it gets a message.
func (t *txn) loseAndTell(a Actor, was, now *taskRecord, reason string) {
	if l := t.lose(a, was, now, reason); l != nil {
		t.tellLoss(l, now)
	}
}

// tellLoss puts the notice into the member's mailbox.
func (t *txn) tellLoss(l *lossRecord, now *taskRecord) {
	n := Loss{
		TaskID: now.ID, Subject: now.Subject, Status: now.Status, Owner: now.Owner, Reason: l.Reason, By: l.By,
	}
	m := &messageRecord{Message: Message{
		From: l.By, To: l.Member, Kind: TaskLost, Text: n.text(), Data: t.encode(n),
		Summary: oneLine("task "+l.Task+" is not yours any more", maxSummary),
	}}
	t.post(m)
	l.Message = m.ID
	t.put(bucketLost, l.key(), t.encode(l))
}

// tellDeleted tells the owner of a task in progress that somebody else deletes it. There
// is nothing left that it could say of the task, so no loss is noted.
func (t *txn) tellDeleted(a Actor, was *taskRecord) {
	if was.Status != InProgress || was.Owner == a.Name {
		return
	}
	n := Loss{TaskID: was.ID, Subject: was.Subject, Status: LossDeleted, By: a.Name}
	t.post(&messageRecord{Message: Message{
		From: a.Name, To: was.Owner, Kind: TaskLost, Text: n.text(), Data: t.encode(n),
		Summary: oneLine("task "+was.ID+" was deleted", maxSummary),
	}})
}

// text says it for the receiver, who may be a model.
func (n Loss) text() string {
	if n.Status == LossDeleted {
		return fmt.Sprintf("Task %s was deleted: %s\nStop working on it.", n.TaskID, n.Subject)
	}
	text := fmt.Sprintf("Task %s is not yours any more: %s", n.TaskID, n.Subject)
	if n.Reason != "" {
		text += " (" + n.Reason + ")"
	}
	if n.Owner != "" {
		return text + fmt.Sprintf("\nIt is %s, with %s. Leave it to %s.", n.Status, n.Owner, n.Owner)
	}
	return text + fmt.Sprintf("\nIt is %s. Claim it if you are still to do it.", n.Status)
}

// regain forgets a loss when the member owns the task again.
//
// It is called wherever a task may get an owner, so the look-up comes first and a delete
// is written only where there is something.
func (t *txn) regain(rec *taskRecord) {
	key := nameNumKey(rec.Owner, rec.number())
	if rec.Owner != "" && t.bucket(bucketLost).Get(key) != nil {
		t.del(bucketLost, key)
	}
}

// heard forgets the loss that a delivered message told of. A member has few.
func (t *txn) heard(member, message string) error {
	list, err := t.losses(member)
	for _, l := range list {
		if l.Message == message {
			t.del(bucketLost, l.key())
		}
	}
	return err
}

// losses lists what a member has lost and not heard of.
func (r reader) losses(member string) ([]*lossRecord, error) {
	var list []*lossRecord
	var failed error
	each(r.bucket(bucketLost), nameKey(member), func(_, v []byte) bool {
		var l *lossRecord
		if l, failed = decode[lossRecord]("loss of "+member, v); failed == nil {
			list = append(list, l)
		}
		return failed == nil
	})
	return list, failed
}

// tellLosses is for a member that begins a session: what it lost while it was away,
// it has had nobody to hear of it.
//
// A task that was deleted meanwhile needs no word; its record goes away here.
func (t *txn) tellLosses(member string) error {
	list, err := t.losses(member)
	if err != nil {
		return err
	}
	for _, l := range list {
		if l.Message != "" {
			continue
		}
		if !t.exists(l.Task) {
			t.del(bucketLost, l.key())
			continue
		}
		now, err := t.load(l.Task)
		if err != nil {
			return err
		}
		t.tellLoss(l, now)
	}
	return nil
}

// holds refuses a member that lost a task and has not read of it yet.
//
// The actor without a name is covey, which is never refused, and the owner of now may
// say everything. The error tells a model all that it needs to go on: who took
// it, and how the task is now.
func (r reader) holds(a Actor, rec *taskRecord) error {
	if a.Name == "" || rec.Owner == a.Name {
		return nil
	}
	stored := r.bucket(bucketLost).Get(nameNumKey(a.Name, rec.number()))
	if stored == nil {
		return nil
	}
	l, err := decode[lossRecord]("loss of "+a.Name, stored)
	if err != nil {
		return err
	}
	why := l.Reason
	if why == "" {
		why = "by " + l.By
	}
	now := "it is " + string(rec.Status)
	if rec.Owner != "" {
		now += ", with " + rec.Owner
	}
	return fmt.Errorf("%w: task %s was taken from %s (%s) and is at epoch %d, not %d: %s; claim it again if it is free",
		ErrStale, rec.ID, a.Name, why, rec.Epoch, l.Epoch, now)
}

// Holds says whether what an actor is about to say of a task's status can count: it
// fails with ErrStale where Update and Delete would, for an old session as well as
// for a task that was taken away, and with ErrNotFound. It is for what comes before
// a change and takes long: nobody runs tests for a change that cannot be.
func (s *Store) Holds(ctx context.Context, a Actor, id string) error {
	return s.view(ctx, func(r reader) error {
		if err := r.admit(a); err != nil {
			return err
		}
		rec, err := r.load(id)
		if err != nil {
			return err
		}
		return r.holds(a, rec)
	})
}

// checkLosses decodes the losses. A task that is gone may still have one: nobody can
// say anything of it, and the member's next session drops it.
func (c *checker) checkLosses() {
	each(c.bucket(bucketLost), nil, func(k, v []byte) bool {
		l, err := decode[lossRecord](fmt.Sprintf("loss %q", k), v)
		if err != nil {
			c.fault("%v", err)
			return true
		}
		c.sameKey(fmt.Sprintf("loss of task %s by %s", l.Task, l.Member), k, l.key())
		n, _ := parseID(l.Task)
		if rec := c.tasks[n]; rec != nil && rec.Owner == l.Member {
			c.fault("task %s is lost to %s, who owns it", l.Task, l.Member)
		}
		return true
	})
}
