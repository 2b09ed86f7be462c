package tasks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
)

// Kind says what a message is about. The store itself sends task assignments
// only; the other kinds mean what their senders and receivers agree on.
type Kind string

// The kinds of messages.
const (
	TextMessage    Kind = "text"
	TaskAssignment Kind = "task_assignment" // Data is an Assignment
	TaskLost       Kind = "task_lost"       // Data is a Loss
	Notice         Kind = "notice"

	GoalMessage     Kind = "goal"   // the team's goal, for the lead
	OperatorMessage Kind = "person" // what the operator sent with `covey send` or typed in attach
	HookMessage     Kind = "hook"   // what a hook in the background wakes its member with
)

// Senders that are no members; specs cannot use these names for members.
const (
	Operator = "operator"
	Covey    = "covey"
)

// Message is a message from one member to another. Its id and sender come from
// the store and the Actor, never from the sender's words.
type Message struct {
	ID      string          `json:"id"`   // a ULID
	Seq     uint64          `json:"seq"`  // rises with every message of the team: the order of delivery
	From    string          `json:"from"` // the actor's name; empty: covey
	To      string          `json:"to"`
	Kind    Kind            `json:"kind"`
	Text    string          `json:"text"`
	Summary string          `json:"summary"`
	Data    json.RawMessage `json:"data,omitempty"`
	Sent    time.Time       `json:"sent"`
	// WaitFor are tasks: the message is for the time when all of them are completed or
	// deleted, and its receiver is not shown it before.
	WaitFor []string `json:"wait_for,omitempty"`
}

// Assignment is the Data of a task_assignment message.
type Assignment struct {
	TaskID      string    `json:"taskId"`
	Subject     string    `json:"subject"`
	Description string    `json:"description,omitempty"` // empty when over 64 KiB: read the task
	AssignedBy  string    `json:"assignedBy"`
	Timestamp   time.Time `json:"timestamp"`
	Ready       bool      `json:"ready"`              // the task was the receiver's before and can be begun now
	WaitsFor    []string  `json:"waitsFor,omitempty"` // ids of the blockers that are not completed
}

// Outgoing is a message to be sent.
type Outgoing struct {
	To   []string // names; one message each, repetitions dropped
	Kind Kind     // TextMessage by default
	Text string
	// Texts are what each of To gets instead of Text, in that order, where they
	// are not told the same; nil: they are. Each holds at most 64 KiB.
	Texts   []string
	Summary string // one line; default: the start of Text
	Data    json.RawMessage
	WaitFor []string // ids of tasks, see Message.WaitFor; each must be there
}

// maxSummary is how many characters of a text make its default summary.
const maxSummary = 200

// Send puts a message into the mailbox of each recipient, or of none. It does
// not know who is a member: mail for a name that never attaches stays unread.
//
// It fails with ErrInvalid for what cannot be stored or has no recipient, and
// with ErrFull when a recipient has Options.MaxUnread messages to read, and with
// ErrNotFound when there is no task that it is to wait for.
func (s *Store) Send(ctx context.Context, a Actor, o Outgoing) ([]Message, error) {
	c := s.job("send", a)
	template, err := s.packMessage(c, &o)
	if err != nil {
		return nil, s.abandon(c, err)
	}
	template.From = a.Name
	r, err := s.act(ctx, c, func(t *txn) (*receiptRecord, error) { return t.sendEach(template, o.To, o.Texts) })
	return r.Messages, err
}

// packMessage checks o, drops repeated recipients and gives the message for
// each of them, without id and recipient.
func (s *Store) packMessage(c *job, o *Outgoing) (messageRecord, error) {
	var m messageRecord
	if err := o.checkTexts(); err != nil {
		return m, err
	}
	if o.To = unique(o.To); len(o.To) == 0 || len(o.To) > maxList {
		return m, fmt.Errorf("%w: a message to %d members, 1 to %d are allowed", ErrInvalid, len(o.To), maxList)
	}
	for _, to := range o.To {
		if err := checkName("recipient", to); err != nil {
			return m, err
		}
	}
	if len(o.WaitFor) > 0 { // nil stays nil: the receipt gives back just what was returned
		m.WaitFor = unique(o.WaitFor)
	}
	if len(m.WaitFor) > maxList {
		return m, fmt.Errorf("%w: a message that waits for %d tasks, at most %d are allowed", ErrInvalid,
			len(m.WaitFor), maxList)
	}
	if m.Kind = o.Kind; m.Kind == "" {
		m.Kind = TextMessage
	}
	if err := checkName("message kind", string(m.Kind)); err != nil {
		return m, err
	}
	var err error
	if m.Summary, err = cleanShort("summary", o.Summary); err != nil {
		return m, err
	}
	if m.Summary == "" {
		m.Summary = firstLine(clean(o.Text))
	}
	text, err := s.pack(c, o.Text)
	if err != nil {
		return m, err
	}
	m.set("text", text)
	data, err := s.packJSON(c, "message data", o.Data)
	if err != nil {
		return m, err
	}
	m.set("data", data)
	return m, nil
}

// checkTexts cleans the texts for single recipients.
func (o *Outgoing) checkTexts() error {
	if o.Texts == nil {
		return nil
	}
	if len(o.Texts) != len(o.To) || len(unique(o.To)) != len(o.To) {
		return fmt.Errorf("%w: %d texts for %d members", ErrInvalid, len(o.Texts), len(o.To))
	}
	o.Texts = slices.Clone(o.Texts)
	for i, text := range o.Texts {
		if len(text) > inlineLimit {
			return fmt.Errorf("%w: the text for %s has %d bytes, at most %d are allowed",
				ErrInvalid, clip(o.To[i]), len(text), inlineLimit)
		}
		o.Texts[i] = clean(text)
	}
	return nil
}

// firstLine makes a summary of a text that may be very long.
func firstLine(text string) string {
	if enough := maxSummary * 8; len(text) > enough {
		text = clean(text[:enough])
	}
	return oneLine(text, maxSummary)
}

// set puts a payload into the field of that name.
func (r *messageRecord) set(field string, l long) {
	if l.file != nil {
		if r.Files == nil {
			r.Files = files{}
		}
		r.Files[field] = *l.file
		return
	}
	if field == "text" {
		r.Text = l.text
	} else if l.text != "" {
		r.Data = json.RawMessage(l.text)
	}
}

// send puts the same message into several mailboxes.
func (t *txn) send(template messageRecord, to []string) (*receiptRecord, error) {
	return t.sendEach(template, to, nil)
}

// sendEach looks at all mailboxes before it fills the first one. texts are
// those of single recipients; nil: the template's is for all.
func (t *txn) sendEach(template messageRecord, to, texts []string) (*receiptRecord, error) {
	for _, id := range template.WaitFor {
		if !t.exists(id) {
			return nil, fmt.Errorf("%w: there is no task %q that the message could wait for", ErrNotFound, clip(id))
		}
	}
	for _, name := range to {
		if n := lastNum(t.bucket(bucketUnread).Get(nameKey(name))); n >= uint64(t.unread) {
			return nil, fmt.Errorf("%w: %s has %d unread messages; wait until it reads them", ErrFull, name, n)
		}
	}
	rec := &receiptRecord{}
	for i, name := range to {
		m := template
		m.To = name
		if texts != nil {
			m.Text = texts[i]
		}
		t.post(&m)
		rec.Messages = append(rec.Messages, m)
	}
	return rec, nil
}

// post gives a message its id and puts it into mailbox and outbox.
func (t *txn) post(m *messageRecord) {
	id, err := ulid.New(uint64(max(t.now.UnixMilli(), 0)), rand.Reader)
	if err != nil {
		t.fail(fmt.Errorf("message id: %w", err))
	}
	t.counts.mail++
	m.ID, m.Seq, m.Sent = id.String(), t.counts.mail, t.now
	t.store(place{bucketMail, nameNumKey(m.To, m.Seq)}, m, m.blobs(), nil)
	t.put(bucketMailID, nameKey(m.To, []byte(m.ID)...), numKey(m.Seq))
	t.add(bucketUnread, nameKey(m.To), 1)
	t.emit(eventRecord{Member: m.From, Message: m})
}

// assign tells a task's owner that it is the owner, or that its task is ready.
// Nobody is told of what they took themselves. That a task is ready is news for
// its owner whoever completed what it waited for.
func (t *txn) assign(a Actor, rec *taskRecord, ready bool) {
	if rec.Owner == "" || rec.Owner == a.Name && !ready {
		return
	}
	n := Assignment{
		TaskID: rec.ID, Subject: rec.Subject, Description: rec.Description,
		AssignedBy: a.Name, Timestamp: t.now, Ready: ready, WaitsFor: t.waiting(rec.ID),
	}
	t.post(&messageRecord{Message: Message{
		From: a.Name, To: rec.Owner, Kind: TaskAssignment, Text: n.text(), Data: t.encode(n),
		Summary: oneLine("task "+rec.ID+": "+firstLine(rec.Subject), maxSummary),
	}})
}

// text says it for the receiver, who may be a model.
func (n Assignment) text() string {
	switch {
	case n.Ready:
		return fmt.Sprintf("Task %s is ready for you: %s", n.TaskID, n.Subject)
	case len(n.WaitsFor) > 0:
		return fmt.Sprintf("Task %s is yours: %s (it waits for %s)", n.TaskID, n.Subject, taskList(n.WaitsFor))
	}
	return fmt.Sprintf("Task %s is yours: %s", n.TaskID, n.Subject)
}

// Unread gives a member's unread messages in the order they were sent.
func (s *Store) Unread(ctx context.Context, member string) ([]Message, error) {
	var list []Message
	err := s.view(ctx, func(r reader) error {
		list = []Message{}
		var failed error
		each(r.bucket(bucketMail), nameKey(member), func(k, v []byte) bool {
			if failed = r.stopped(len(list)); failed != nil {
				return false
			}
			var m Message
			if m, failed = r.message(k, v); failed == nil {
				list = append(list, m)
			}
			return failed == nil
		})
		return failed
	})
	if err != nil {
		return nil, fmt.Errorf("unread mail of %s: %w", clip(member), err)
	}
	return list, nil
}

// UnreadCounts gives the number of unread messages by member, of those that have some. It
// is one read for any number of members.
func (s *Store) UnreadCounts(ctx context.Context) (map[string]int, error) {
	var counts map[string]int
	err := s.view(ctx, func(r reader) error {
		counts = r.unreadCounts()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count unread mail: %w", err)
	}
	return counts, nil
}

// unreadCounts reads the numbers of unread messages.
func (r reader) unreadCounts() map[string]int {
	counts := map[string]int{}
	each(r.bucket(bucketUnread), nil, func(k, v []byte) bool {
		if name, _, ok := splitName(k); ok {
			counts[name] = int(lastNum(v))
		}
		return true
	})
	return counts
}

// message puts a message together again: long texts lie in files beside the
// store, so that pages stay small.
func (r reader) message(key, stored []byte) (Message, error) {
	rec, err := decode[messageRecord](fmt.Sprintf("message %d", lastNum(key)), stored)
	if err != nil {
		return Message{}, err
	}
	return rec.open(r.files)
}

// Deliver notes that a member, the actor, has read these messages: they are unread no
// more. Ids that are not in its mailbox were delivered before and change nothing. It fails
// with ErrStale for an earlier session: what a life of a member was shown that is over, the
// one that goes on has not seen.
func (s *Store) Deliver(ctx context.Context, a Actor, ids []string) error {
	if err := checkName("member", a.Name); err != nil {
		return err
	}
	ids = slices.Clone(ids) // the change may outlive the call
	c := &job{op: "deliver"}
	c.run = func(t *txn) error {
		if err := t.admit(a); err != nil {
			return err
		}
		for _, id := range ids {
			if err := t.deliver(a.Name, id); err != nil {
				return err
			}
		}
		return nil
	}
	return s.submit(ctx, c)
}

// deliver takes one message out of a mailbox, if it is there, and tells so.
func (t *txn) deliver(member, id string) error {
	if t.bucket(bucketMailID).Get(nameKey(member, []byte(id)...)) == nil {
		return nil
	}
	if err := t.takeOut(member, id); err != nil {
		return err
	}
	t.emit(eventRecord{Member: member, Delivered: id})
	return nil
}

// takeOut takes one message out of a mailbox, if it is there.
func (t *txn) takeOut(member, id string) error {
	idKey := nameKey(member, []byte(id)...)
	seq := t.bucket(bucketMailID).Get(idKey)
	if seq == nil {
		return nil
	}
	key := nameNumKey(member, lastNum(seq))
	var had []blobRef
	if stored := t.bucket(bucketMail).Get(key); holdsFiles(stored) {
		rec, err := decode[messageRecord]("message "+id, bytes.Clone(stored))
		if err != nil {
			return err
		}
		had = rec.blobs()
	}
	t.erase(place{bucketMail, key}, had)
	t.del(bucketMailID, idKey)
	t.add(bucketUnread, nameKey(member), -1)
	return t.heard(member, id)
}
