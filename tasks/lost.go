package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// A task's epoch fences off its former owner. Agents do not know epochs: their calls
// name a task and a new status. So the store remembers which member had a task in
// progress when somebody else took it away, and refuses that member's status changes
// until the member has read that it lost the task. After that, a status change is
// deliberate.

// lossRecord is a task that a member lost while it had the task in progress. It stays
// in bucketLost until the member has read about it, or owns the task again.
type lossRecord struct {
	Task    string    `json:"task"`
	Member  string    `json:"member"`
	Epoch   uint64    `json:"epoch"` // under which the member had the task
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
	Time    time.Time `json:"time"`
	Message string    `json:"message,omitempty"` // id of the notice; empty: not sent yet
}

// LossDeleted is the Status of a Loss whose task was deleted.
const LossDeleted Status = "deleted"

// Loss is the Data of a TaskLost message.
type Loss struct {
	TaskID  string `json:"taskId"`
	Subject string `json:"subject"`
	Status  Status `json:"status"`          // of the task when the message was sent; or LossDeleted
	Owner   string `json:"owner,omitempty"` // when the message was sent
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by"` // empty: covey
}

// LossOf returns the loss that a message reports to the former owner of a task. ok is
// false if the message reports none.
func LossOf(m mail.Message) (l Loss, ok bool) {
	var data Loss
	if m.Kind != mail.TaskLost || json.Unmarshal(m.Data, &data) != nil {
		return Loss{}, false
	}
	return data, data.TaskID != ""
}

// losses changes the records of what members have lost.
type losses struct{ t *txn }

// record stores that a task was taken from its owner. was and now are the task before
// and after the change. It returns nil if nothing was lost: the owner gave the task
// away itself, or the task was completed.
func (l losses) record(a actors.Actor, was, now *taskRecord, reason string) *lossRecord {
	taken := was.Status == InProgress && now.Status != Completed && now.Owner != was.Owner
	if !taken || was.Owner == a.Name {
		return nil
	}
	rec := &lossRecord{
		Task: was.ID, Member: was.Owner, Epoch: was.Epoch, Reason: reason, By: a.Name, Time: l.t.tx.Now(),
	}
	l.t.tx.Put(bucketLost, rec.key(), l.t.tx.Encode(rec))
	return rec
}

func (l *lossRecord) key() []byte {
	n, _ := store.ParseID(l.Task)
	return store.NameNumKey(l.Member, n)
}

// recordAndNotify is record for a member that goes on running: it gets a message.
func (l losses) recordAndNotify(a actors.Actor, was, now *taskRecord, reason string) {
	if rec := l.record(a, was, now, reason); rec != nil {
		l.notify(rec, now)
	}
}

// notify sends the notice to the member.
func (l losses) notify(rec *lossRecord, now *taskRecord) {
	rec.Message = l.post(rec.Member, "is not yours any more", Loss{
		TaskID: now.ID, Subject: now.Subject, Status: now.Status, Owner: now.Owner, Reason: rec.Reason, By: rec.By,
	})
	l.t.tx.Put(bucketLost, rec.key(), l.t.tx.Encode(rec))
}

// tellDeleted tells the owner of a task in progress that somebody else deletes it. No
// loss is recorded, because the owner cannot change a deleted task anyway.
func (l losses) tellDeleted(a actors.Actor, was *taskRecord) {
	if was.Status == InProgress && was.Owner != a.Name {
		l.post(was.Owner, "was deleted", Loss{TaskID: was.ID, Subject: was.Subject, Status: LossDeleted, By: a.Name})
	}
}

// post tells a task's former owner what happened to the task.
func (l losses) post(to, what string, n Loss) (id string) {
	return mail.Post(l.t.tx, mail.Message{
		From: n.By, To: to, Kind: mail.TaskLost, Text: n.text(), Data: l.t.tx.Encode(n),
		Summary: store.OneLine("task "+n.TaskID+" "+what, mail.MaxSummary),
	})
}

// text formats the loss for the receiver, which may be a model.
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

// forget drops a loss when the member owns the task again. It is called wherever a
// task may get an owner, so it looks first and deletes only if there is something to
// delete.
func (l losses) forget(rec *taskRecord) {
	key := store.NameNumKey(rec.Owner, rec.number())
	if rec.Owner != "" && l.t.Bucket(bucketLost).Get(key) != nil {
		l.t.tx.Delete(bucketLost, key)
	}
}

// noticeRead drops the loss that a delivered message reported. A member has few
// losses.
func (l losses) noticeRead(member, message string) error {
	list, err := l.list(member)
	for _, rec := range list {
		if rec.Message == message {
			l.t.tx.Delete(bucketLost, rec.key())
		}
	}
	return err
}

// list returns the tasks that a member has lost and not read about.
func (l losses) list(member string) ([]*lossRecord, error) {
	return store.All(l.t.Reader, bucketLost, store.NameKey(member), func(_, v []byte) (*lossRecord, error) {
		return store.Decode[lossRecord]("loss of "+member, v)
	})
}

// notifyAll sends the pending notices to a member that begins a session: nobody was
// there to read about what it lost in between. Losses of deleted tasks are dropped
// without a notice.
func (l losses) notifyAll(member string) error {
	list, err := l.list(member)
	if err != nil {
		return err
	}
	for _, rec := range list {
		if rec.Message != "" {
			continue
		}
		if !l.t.exists(rec.Task) {
			l.t.tx.Delete(bucketLost, rec.key())
			continue
		}
		now, err := l.t.load(rec.Task)
		if err != nil {
			return err
		}
		l.notify(rec, now)
	}
	return nil
}

// mailedTasks tells mailboxes about the tasks that messages refer to.
type mailedTasks struct{}

// Exists reports whether there is a task with that id.
func (mailedTasks) Exists(r store.Reader, id string) bool { return reader{r}.exists(id) }

// MessageRead is called when a member has read a message.
func (mailedTasks) MessageRead(t *store.Tx, member, message string) error {
	return losses{changing(t)}.noticeRead(member, message)
}

// checkNotLost fails with ErrStale for a member that lost the task and has not read
// about it yet. Covey itself (the actor without a name) and the present owner are
// never refused. The error tells a model what it needs to go on: who took the task,
// and its state now.
func (r reader) checkNotLost(a actors.Actor, rec *taskRecord) error {
	if a.Name == "" || rec.Owner == a.Name {
		return nil
	}
	stored := r.Bucket(bucketLost).Get(store.NameNumKey(a.Name, rec.number()))
	if stored == nil {
		return nil
	}
	l, err := store.Decode[lossRecord]("loss of "+a.Name, stored)
	if err != nil {
		return err
	}
	// A loss has a reason if covey took the task away, and an actor if somebody else did.
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

// CheckNotLost fails with ErrStale if Update and Delete would refuse a status change
// by this actor: its session is over, or the task was taken from it. It fails with
// ErrNotFound for an unknown task. Call it before long work that leads to such a
// change, as gates do.
func (s *Store) CheckNotLost(ctx context.Context, a actors.Actor, id string) error {
	return s.db.View(ctx, func(r store.Reader) error {
		if err := a.Admit(r); err != nil {
			return err
		}
		rec, err := reader{r}.load(id)
		if err != nil {
			return err
		}
		return reader{r}.checkNotLost(a, rec)
	})
}

// checkLosses decodes the losses. A loss may outlive its task; the member's next
// session drops it.
func (w *taskWalk) checkLosses(c *store.Checker) {
	store.CheckAll(c, bucketLost, "loss %q", func(k []byte, l *lossRecord) {
		c.SameKey(fmt.Sprintf("loss of task %s by %s", l.Task, l.Member), k, l.key())
		n, _ := store.ParseID(l.Task)
		if rec := w.tasks[n]; rec != nil && rec.Owner == l.Member {
			c.Fault("task %s is lost to %s, who owns it", l.Task, l.Member)
		}
	})
}
