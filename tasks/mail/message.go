package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"

	"github.com/oklog/ulid/v2"
)

// Kind describes what a message is about. The store itself sends only task assignments and
// losses; senders and receivers agree on the meaning of the other kinds.
type Kind string

// The kinds of messages.
const (
	Text           Kind = "text"
	TaskAssignment Kind = "task_assignment" // Data is an Assignment
	TaskLost       Kind = "task_lost"       // Data is a Loss
	Notice         Kind = "notice"
	Reminder       Kind = "reminder" // what a member has scheduled to itself; it begins a turn and comes into none

	Goal            Kind = "goal"   // the team's goal, for the lead
	OperatorMessage Kind = "person" // what the operator sent with `covey send` or typed in attach
	HookMessage     Kind = "hook"   // from a background hook that wakes its member
	// HelperMessage tells a member about a helper or a command in its background. It is not a Notice,
	// because UserPromptSubmit hooks run for it.
	HelperMessage Kind = "helper"
)

// Message is a message from one member to another. The store sets its id and sender,
// never the sender.
type Message struct {
	ID      string          `json:"id"`   // a ULID
	Seq     uint64          `json:"seq"`  // rises with every message of the team; the order of delivery
	From    string          `json:"from"` // the actor's name; empty: covey
	To      string          `json:"to"`
	Kind    Kind            `json:"kind"`
	Text    string          `json:"text"`
	Summary string          `json:"summary"`
	Data    json.RawMessage `json:"data,omitempty"`
	Sent    time.Time       `json:"sent"`
	// WaitFor are ids of tasks: the receiver does not see the message before all of
	// them are completed or deleted.
	WaitFor []string `json:"wait_for,omitempty"`
}

// Outgoing is a message to be sent.
type Outgoing struct {
	To   []string // names; one message each, without duplicates
	Kind Kind     // Text by default
	Text string
	// Texts are the texts for each of To, in that order, if they differ; nil: all get
	// Text. Each holds at most 64 KiB.
	Texts   []string
	Summary string // one line; default: the start of Text
	Data    json.RawMessage
	WaitFor []string // ids of tasks, see Message.WaitFor; each task must exist
}

// MaxSummary is the length of a default summary in characters (TEAMS.md section 2).
const MaxSummary = 200

// Boxes are the mailboxes of a team.
type Boxes struct {
	db    *store.DB
	most  int // maximum of unread messages per member
	tasks Tasks
}

// Tasks is what mailboxes need to know about tasks.
type Tasks interface {
	// Exists reports whether there is a task with that id.
	Exists(r store.Reader, id string) bool
	// MessageRead is called when a member has read a message.
	MessageRead(t *store.Tx, member, message string) error
}

// New returns the mailboxes in db. Sending to a member with most unread messages
// fails with ErrFull.
func New(db *store.DB, most int, tasks Tasks) *Boxes { return &Boxes{db: db, most: most, tasks: tasks} }

// Send puts a message into the mailbox of each recipient, or of none if it fails. It
// does not know the members: mail for a name that never attaches stays unread.
//
// Send fails with ErrInvalid if the message cannot be stored or has no recipient,
// with ErrFull if a recipient has Options.MaxUnread unread messages, and with
// ErrNotFound if a task in WaitFor does not exist.
func (b *Boxes) Send(ctx context.Context, a actors.Actor, o Outgoing) ([]Message, error) {
	c := b.db.Job("send")
	p, err := b.Pack(c, a.Name, o)
	if err != nil {
		return nil, c.Abandon(err)
	}
	return actors.Act(ctx, c, a, func(t *store.Tx) (*receipt, error) {
		sent, err := b.Put(t, p)
		return &receipt{Op: c.Op, Messages: sent}, err
	})
}

// receipt is the result of Send as stored.
type receipt struct {
	Op       string   `json:"op"`
	Messages []Record `json:"messages,omitempty"`
}

// Open returns the messages.
func (r *receipt) Open(b *store.Blobs) ([]Message, error) { return OpenAll(r.Messages, b) }

// OpenAll returns the messages of several records.
func OpenAll(records []Record, b *store.Blobs) ([]Message, error) {
	var list []Message
	for i := range records {
		m, err := records[i].Open(b)
		if err != nil {
			return nil, fmt.Errorf("receipt: %w", err)
		}
		list = append(list, m)
	}
	return list, nil
}

// Packed is a checked and packed message with its recipients. The zero value has no
// recipient.
type Packed struct {
	template Record // without id and recipient
	to       []string
	texts    []string // one for each recipient; nil: all get the template's
}

// Pack checks and packs a message that a change will send in the name of from.
func (b *Boxes) Pack(c *store.Job, from string, o Outgoing) (Packed, error) {
	var p Packed
	m := &p.template
	m.From = from
	if err := o.checkTexts(); err != nil {
		return p, err
	}
	p.to, p.texts = store.Unique(o.To), o.Texts
	if len(p.to) == 0 || len(p.to) > store.MaxList {
		return p, fmt.Errorf("%w: a message to %d members, 1 to %d are allowed", store.ErrInvalid, len(p.to), store.MaxList)
	}
	for _, to := range p.to {
		if err := store.CheckName("recipient", to); err != nil {
			return p, err
		}
	}
	if len(o.WaitFor) > 0 { // nil stays nil, so that the receipt returns the same value
		m.WaitFor = store.Unique(o.WaitFor)
	}
	if len(m.WaitFor) > store.MaxList {
		return p, fmt.Errorf("%w: a message that waits for %d tasks, at most %d are allowed",
			store.ErrInvalid, len(m.WaitFor), store.MaxList)
	}
	m.Kind = cmp.Or(o.Kind, Text)
	if err := store.CheckName("message kind", string(m.Kind)); err != nil {
		return p, err
	}
	var err error
	if m.Summary, err = store.CleanShort("summary", o.Summary); err != nil {
		return p, err
	}
	m.Summary = cmp.Or(m.Summary, Summarize(store.Clean(o.Text)))
	return p, m.pack(c, o.Text, o.Data)
}

// checkTexts checks and cleans the texts for single recipients.
func (o *Outgoing) checkTexts() error {
	if o.Texts == nil {
		return nil
	}
	if len(o.Texts) != len(o.To) || len(store.Unique(o.To)) != len(o.To) {
		return fmt.Errorf("%w: %d texts for %d members", store.ErrInvalid, len(o.Texts), len(o.To))
	}
	o.Texts = slices.Clone(o.Texts)
	for i, text := range o.Texts {
		if len(text) > store.InlineLimit {
			return fmt.Errorf("%w: the text for %s has %d bytes, at most %d are allowed",
				store.ErrInvalid, store.Clip(o.To[i]), len(text), store.InlineLimit)
		}
		o.Texts[i] = store.Clean(text)
	}
	return nil
}

// Summarize returns the start of a text, which may be very long, as one line.
func Summarize(text string) string {
	if enough := MaxSummary * 8; len(text) > enough {
		text = store.Clean(text[:enough])
	}
	return store.OneLine(text, MaxSummary)
}

// Record is a message as stored.
type Record struct {
	Message
	Files store.Files `json:"files,omitempty"`
}

// pack stores text and data in the record.
func (r *Record) pack(c *store.Job, text string, data json.RawMessage) error {
	long, err := c.Pack(text)
	if err != nil {
		return err
	}
	r.Text = r.Files.Put("text", long)
	if long, err = c.PackJSON("message data", data); err != nil {
		return err
	}
	r.Data = nil
	if inline := r.Files.Put("data", long); inline != "" {
		r.Data = json.RawMessage(inline)
	}
	return nil
}

// Open returns the message with the fields that are in files filled in.
func (r *Record) Open(b *store.Blobs) (Message, error) {
	m := r.Message
	text, err := r.Files.Text(b, "text", m.Text)
	if err != nil {
		return Message{}, fmt.Errorf("message %s, %w", r.ID, err)
	}
	data, err := r.Files.Text(b, "data", string(m.Data))
	if err != nil {
		return Message{}, fmt.Errorf("message %s, %w", r.ID, err)
	}
	m.Text = text
	if _, inFile := r.Files["data"]; inFile {
		m.Data = json.RawMessage(data)
	}
	return m, nil
}

// Put puts a message into the mailbox of each recipient. It checks all mailboxes
// before it writes to the first one.
func (b *Boxes) Put(t *store.Tx, p Packed) ([]Record, error) {
	for _, id := range p.template.WaitFor {
		if !b.tasks.Exists(t.Reader, id) {
			return nil, fmt.Errorf("%w: there is no task %q for the message to wait for", store.ErrNotFound, store.Clip(id))
		}
	}
	for _, name := range p.to {
		if n := store.LastNum(t.Bucket(UnreadBucket).Get(store.NameKey(name))); n >= uint64(b.most) {
			return nil, fmt.Errorf("%w: %s has %d unread messages; wait until it reads them", ErrFull, name, n)
		}
	}
	return PutAnswer(t, p), nil
}

// PutAnswer puts a message into the mailbox of each recipient, even a full one. It is for
// answers to the recipient's questions, whose number is bounded.
func PutAnswer(t *store.Tx, p Packed) (sent []Record) {
	for i, name := range p.to {
		m := p.template
		m.To = name
		if p.texts != nil {
			m.Text = p.texts[i]
		}
		post(t, &m)
		sent = append(sent, m)
	}
	return sent
}

// Post puts a short message of the store itself into a mailbox, even a full one, and
// returns its id.
func Post(t *store.Tx, m Message) (id string) {
	rec := &Record{Message: m}
	post(t, rec)
	return rec.ID
}

// post assigns an id to a message and puts it into mailbox and outbox.
func post(t *store.Tx, m *Record) {
	m.ID, m.Seq, m.Sent = newID(t), t.Next(store.MailCounter), t.Now()
	m.insert(t)
	t.Emit(store.Event{Member: m.From, Message: m})
}

// insert puts a message into its mailbox.
func (r *Record) insert(t *store.Tx) {
	t.Store(store.Place{Bucket: MailBucket, Key: store.NameNumKey(r.To, r.Seq)}, r, r.Files.Blobs(), nil)
	t.Put(idBucket, store.NameKey(r.To, []byte(r.ID)...), store.NumKey(r.Seq))
	t.Add(UnreadBucket, store.NameKey(r.To), 1)
}

// newID returns a new ULID.
func newID(t *store.Tx) string {
	id, err := ulid.New(uint64(max(t.Now().UnixMilli(), 0)), rand.Reader)
	if err != nil {
		t.Fail(fmt.Errorf("message id: %w", err))
	}
	return id.String()
}

// Repack returns the record of a message that was in a mailbox before.
func Repack(c *store.Job, m Message) (*Record, error) {
	rec := &Record{Message: m}
	if err := rec.pack(c, m.Text, m.Data); err != nil {
		return nil, fmt.Errorf("message %s: %w", m.ID, err)
	}
	return rec, nil
}

// Restore puts a message back into its mailbox without an event. It raises the mail
// counter first, so that no new message gets the number of a restored one.
func Restore(t *store.Tx, m *Record) {
	t.Raise(store.MailCounter, m.Seq)
	if t.Bucket(idBucket).Get(store.NameKey(m.To, []byte(m.ID)...)) == nil {
		m.insert(t)
	}
}

// Unread returns a member's unread messages in the order in which they were sent.
func (b *Boxes) Unread(ctx context.Context, member string) ([]Message, error) {
	return store.View(ctx, b.db, "unread mail of "+store.Clip(member), func(r store.Reader) ([]Message, error) {
		return unread(r, member, nil)
	})
}

// UnreadOf returns the unread messages of several members, as Unread does, in one read.
// Those that came over the bus are taken from there.
func (b *Boxes) UnreadOf(ctx context.Context, members []*Received) ([][]Message, error) {
	// What has come before the read, and is not unread by it, has been read.
	came := make([]map[uint64]Message, len(members))
	for i, m := range members {
		came[i] = m.now()
	}
	return store.View(ctx, b.db, "unread mail", func(r store.Reader) ([][]Message, error) {
		boxes := make([][]Message, len(members))
		for i, m := range members {
			var err error
			if boxes[i], err = unread(r, m.Member, came[i]); err != nil {
				return nil, err
			}
			m.settle(came[i], boxes[i])
		}
		return boxes, nil
	})
}

// unread reads a mailbox, except for the messages that came over the bus.
func unread(r store.Reader, member string, came map[uint64]Message) ([]Message, error) {
	return store.All(r, MailBucket, store.NameKey(member), func(k, v []byte) (Message, error) {
		if m, ok := came[store.LastNum(k)]; ok {
			return m, nil
		}
		rec, err := store.Decode[Record](fmt.Sprintf("message %d", store.LastNum(k)), v)
		if err != nil {
			return Message{}, err
		}
		return rec.Open(r.Blobs())
	})
}

// UnreadCounts returns the number of unread messages by member, without members that
// have none, in one read.
func (b *Boxes) UnreadCounts(ctx context.Context) (map[string]int, error) {
	return store.View(ctx, b.db, "count unread mail", func(r store.Reader) (map[string]int, error) { return Counts(r), nil })
}

// Counts returns the number of unread messages by member, without members that have
// none.
func Counts(r store.Reader) map[string]int {
	counts := map[string]int{}
	for k, v := range r.Bucket(UnreadBucket).Each(nil) {
		if name, _, ok := store.SplitName(k); ok {
			counts[name] = int(store.LastNum(v))
		}
	}
	return counts
}

// Deliver records that a member, the actor, has read these messages. Ids that are not
// in its mailbox were delivered before and change nothing. Deliver fails with
// ErrStale for an earlier session: the present session has not seen what an earlier
// one was shown.
func (b *Boxes) Deliver(ctx context.Context, a actors.Actor, ids []string) error {
	if err := store.CheckName("member", a.Name); err != nil {
		return err
	}
	ids = slices.Clone(ids) // the change may outlive the call
	return b.db.Job("deliver").Submit(ctx, func(t *store.Tx) error {
		if err := a.Admit(t.Reader); err != nil {
			return err
		}
		for _, id := range ids {
			found, err := b.Remove(t, a.Name, id)
			if err != nil {
				return err
			}
			if found {
				t.Emit(store.Event{Member: a.Name, Delivered: id})
			}
		}
		return nil
	})
}

// Remove removes a message from a mailbox and reports whether it was there.
func (b *Boxes) Remove(t *store.Tx, member, id string) (found bool, err error) {
	idKey := store.NameKey(member, []byte(id)...)
	seq := t.Bucket(idBucket).Get(idKey)
	if seq == nil {
		return false, nil
	}
	key := store.NameNumKey(member, store.LastNum(seq))
	var had []store.BlobRef
	if stored := t.Bucket(MailBucket).Get(key); store.MayHoldFiles(stored) {
		rec, err := store.Decode[store.Filed]("message "+id, stored)
		if err != nil {
			return false, err
		}
		had = rec.Files.Blobs()
	}
	t.Erase(store.Place{Bucket: MailBucket, Key: key}, had)
	t.Delete(idBucket, idKey)
	t.Add(UnreadBucket, store.NameKey(member), -1)
	return true, b.tasks.MessageRead(t, member, id)
}
