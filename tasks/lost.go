package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/kv"
	"github.com/coveyteam/covey/tasks/mail"
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

// LossOf returns what a message tells the former owner of a task; false if it tells of no
// loss.
func LossOf(m mail.Message) (Loss, bool) {
	var data Loss
	if m.Kind != mail.TaskLost || json.Unmarshal(m.Data, &data) != nil {
		return Loss{}, false
	}
	return data, data.TaskID != ""
}

// losses are the changes of what members have lost.
type losses struct{ t *txn }

// lose notes that was is taken from its owner, unless its owner did it itself.
//
// was and now are the task before and after the change. What the owner gave away itself
// is no loss, and neither is a task that was completed: there is nothing left to say.
func (l losses) lose(a actors.Actor, was, now *taskRecord, reason string) *lossRecord {
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
	n, _ := kv.ParseID(l.Task)
	return kv.NameNumKey(l.Member, n)
}

// loseAndTell is lose for a member that goes on: it gets a message.
func (l losses) loseAndTell(a actors.Actor, was, now *taskRecord, reason string) {
	if rec := l.lose(a, was, now, reason); rec != nil {
		l.notify(rec, now)
	}
}

// notify puts the notice into the member's mailbox.
func (l losses) notify(rec *lossRecord, now *taskRecord) {
	rec.Message = l.post(rec.Member, "is not yours any more", Loss{
		TaskID: now.ID, Subject: now.Subject, Status: now.Status, Owner: now.Owner, Reason: rec.Reason, By: rec.By,
	})
	l.t.tx.Put(bucketLost, rec.key(), l.t.tx.Encode(rec))
}

// tellDeleted tells the owner of a task in progress that somebody else deletes it. There
// is nothing left that it could say of the task, so no loss is noted.
func (l losses) tellDeleted(a actors.Actor, was *taskRecord) {
	if was.Status == InProgress && was.Owner != a.Name {
		l.post(was.Owner, "was deleted", Loss{TaskID: was.ID, Subject: was.Subject, Status: LossDeleted, By: a.Name})
	}
}

// post sends what has become of a task to its owner of before.
func (l losses) post(to, what string, n Loss) (id string) {
	return mail.Post(l.t.tx, mail.Message{
		From: n.By, To: to, Kind: mail.TaskLost, Text: n.text(), Data: l.t.tx.Encode(n),
		Summary: kv.OneLine("task "+n.TaskID+" "+what, mail.MaxSummary),
	})
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
func (l losses) regain(rec *taskRecord) {
	key := kv.NameNumKey(rec.Owner, rec.number())
	if rec.Owner != "" && l.t.Bucket(bucketLost).Get(key) != nil {
		l.t.tx.Delete(bucketLost, key)
	}
}

// heard forgets the loss that a delivered message told of. A member has few.
func (l losses) heard(member, message string) error {
	list, err := l.list(member)
	for _, rec := range list {
		if rec.Message == message {
			l.t.tx.Delete(bucketLost, rec.key())
		}
	}
	return err
}

// list gives what a member has lost and not heard of.
func (l losses) list(member string) ([]*lossRecord, error) {
	return kv.All(l.t.Reader, bucketLost, kv.NameKey(member), func(_, v []byte) (*lossRecord, error) {
		return kv.Decode[lossRecord]("loss of "+member, v)
	})
}

// tellAll is for a member that begins a session: what it lost while it was away,
// it has had nobody to hear of it.
//
// A task that was deleted meanwhile needs no word; its record goes away here.
func (l losses) tellAll(member string) error {
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

// mailedTasks is what mailboxes ask of the tasks that mail is about.
type mailedTasks struct{}

// Exists says whether there is a task with that id.
func (mailedTasks) Exists(r kv.Reader, id string) bool { return reader{r}.exists(id) }

// Heard is told that a member has read a message.
func (mailedTasks) Heard(t *kv.Tx, member, message string) error {
	return losses{changing(t)}.heard(member, message)
}

// holds refuses a member that lost a task and has not read of it yet.
//
// The actor without a name is covey, which is never refused, and the owner of now may
// say everything. The error tells a model all that it needs to go on: who took
// it, and how the task is now.
func (r reader) holds(a actors.Actor, rec *taskRecord) error {
	if a.Name == "" || rec.Owner == a.Name {
		return nil
	}
	stored := r.Bucket(bucketLost).Get(kv.NameNumKey(a.Name, rec.number()))
	if stored == nil {
		return nil
	}
	l, err := kv.Decode[lossRecord]("loss of "+a.Name, stored)
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
func (s *Store) Holds(ctx context.Context, a actors.Actor, id string) error {
	return s.db.View(ctx, func(r kv.Reader) error {
		if err := a.Admit(r); err != nil {
			return err
		}
		rec, err := reader{r}.load(id)
		if err != nil {
			return err
		}
		return reader{r}.holds(a, rec)
	})
}

// checkLosses decodes the losses. A task that is gone may still have one: nobody can
// say anything of it, and the member's next session drops it.
func (w *taskWalk) checkLosses(c *kv.Checker) {
	kv.CheckAll(c, bucketLost, "loss %q", func(k []byte, l *lossRecord) {
		c.SameKey(fmt.Sprintf("loss of task %s by %s", l.Task, l.Member), k, l.key())
		n, _ := kv.ParseID(l.Task)
		if rec := w.tasks[n]; rec != nil && rec.Owner == l.Member {
			c.Fault("task %s is lost to %s, who owns it", l.Task, l.Member)
		}
	})
}
