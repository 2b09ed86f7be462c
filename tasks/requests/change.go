package requests

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// Record is a request as stored. Its key in requestsBucket is its id. openBucket
// lists it while it is open, closedBucket after that, and askedBucket holds the
// newest request of each key.
type Record struct {
	Request
	Files store.Files `json:"files,omitempty"`
}

func (r *Record) place() store.Place { return store.Place{Bucket: requestsBucket, Key: []byte(r.ID)} }

// openKey returns the request's key in openBucket.
func (r *Record) openKey() []byte { return store.NameKey(r.Member, []byte(r.ID)...) }

// askedKey returns the key of the question that a request asks, or nil if it has
// none. Member, kind and key are joined so that different ones never give the same
// bytes.
func (r *Record) askedKey() []byte {
	if r.Key == "" {
		return nil
	}
	return store.NameKey(r.Member, store.NameKey(string(r.Kind), []byte(r.Key)...)...)
}

// Unpack returns the request with a payload that is in a file filled in.
func (r *Record) Unpack(b *store.Blobs) (Request, error) {
	request := r.Request
	payload, err := r.Files.Text(b, "payload", "")
	if err != nil {
		return Request{}, fmt.Errorf("request %s: %w", r.ID, err)
	}
	if payload != "" {
		request.Payload = json.RawMessage(payload)
	}
	return request, nil
}

// draft is a New after checking and packing.
type draft struct {
	rec  *Record // without times and state
	wait time.Duration
	mail mail.Packed
}

// draft assigns an id to a request before the change, so that the mail about it can
// name it.
//
// It writes long payloads and texts to files outside the transaction, so that the
// committer does not wait for the disk. If the change does not happen, c removes the
// files.
func (d *Requests) draft(ctx context.Context, c *store.Job, a actors.Actor, n New) (draft, error) {
	if err := n.check(); err != nil {
		return draft{}, err
	}
	number, err := d.next(ctx)
	if err != nil {
		return draft{}, err
	}
	rec := &Record{Request: Request{
		ID: idOf(number), Kind: n.Kind, Member: n.Member, To: n.To, Default: n.Default,
		Key: n.Key, Lasting: n.Lasting, State: Open,
	}}
	if rec.Text, err = store.CleanShort("text of the request", n.Text); err != nil {
		return draft{}, err
	}
	payload, err := c.PackJSON("payload", n.Payload)
	if err != nil {
		return draft{}, err
	}
	rec.Payload = json.RawMessage(rec.Files.Put("payload", payload))
	seen := rec.Request
	seen.Payload = n.Payload
	message, err := d.packFor(c, a, n.To, mailOf(seen, n.Mail))
	return draft{rec: rec, wait: n.Wait, mail: message}, err
}

// check rejects what cannot be stored, and a member that would answer itself.
func (n New) check() error {
	kinds := []Kind{
		AskPermission, AskPlan, AskMerge, AskShutdown, AskAttention, AskApproval, AskQuestion, AskForm,
	}
	if !slices.Contains(kinds, n.Kind) {
		return fmt.Errorf("%w: a request of kind %q", store.ErrInvalid, store.Clip(string(n.Kind)))
	}
	for what, name := range map[string]string{"member of the request": n.Member, "receiver of the request": n.To} {
		if err := store.CheckName(what, name); err != nil {
			return err
		}
	}
	if n.Member == n.To {
		return fmt.Errorf("%w: %s cannot answer a request about itself; put it to another member or to a person",
			store.ErrInvalid, n.Member)
	}
	if n.Key != "" {
		return store.CheckName("key of the request", n.Key)
	}
	return nil
}

// packFor packs the mail for one receiver; mail without text is not sent.
func (d *Requests) packFor(c *store.Job, a actors.Actor, to string, out mail.Outgoing) (mail.Packed, error) {
	if out.Text == "" {
		return mail.Packed{}, nil
	}
	out.To = []string{to}
	return d.boxes.Pack(c, a.Name, out)
}

// mailOf returns the mail about a request.
func mailOf(r Request, compose func(Request) mail.Outgoing) mail.Outgoing {
	if compose == nil {
		return mail.Outgoing{}
	}
	return compose(r)
}

// ask stores a draft unless the same question was asked before; fresh reports which.
//
// Everything that can refuse the change comes before the first write. maxOpen bounds
// the requests that a member in a loop can make.
func (d *Requests) ask(t *store.Tx, a actors.Actor, q draft) (rec *Record, fresh bool, err error) {
	if before, err := askedBefore(t.Reader, q.rec.askedKey()); err != nil || before != nil {
		return before, false, err
	}
	if n := len(openIDs(t.Reader, store.NameKey(q.rec.Member))); n >= maxOpen {
		return nil, false, fmt.Errorf("%w: %d requests about %s are open; answer or withdraw some of them",
			mail.ErrFull, n, q.rec.Member)
	}
	copied := *q.rec // a change may run twice
	rec = &copied
	if _, err := d.boxes.Put(t, q.mail); err != nil {
		return nil, false, err
	}
	rec.Created = t.Now()
	if q.wait > 0 {
		rec.Deadline = t.Now().Add(q.wait)
	}
	number, _ := numberOf(rec.ID)
	t.Raise(store.RequestCounter, number)
	t.Store(rec.place(), rec, rec.Files.Blobs(), nil)
	t.Mark(openBucket, rec.openKey(), true)
	if key := rec.askedKey(); key != nil {
		t.Put(askedBucket, key, []byte(rec.ID))
	}
	t.Emit(store.Event{Member: a.Name, Request: rec})
	return rec, true, nil
}

// askedBefore returns the request that answers a question already, or will: an open
// one, an answered one whose answer nobody has acted on, or a lasting yes. If there
// is none, the question may be asked again.
func askedBefore(r store.Reader, key []byte) (*Record, error) {
	if key == nil {
		return nil, nil
	}
	id := r.Bucket(askedBucket).Get(key)
	if id == nil {
		return nil, nil
	}
	rec, err := load(r, string(id))
	if err != nil {
		return nil, fmt.Errorf("%w: an index names a request that cannot be read: %v", store.ErrCorrupt, err)
	}
	if rec.Open() || rec.stillAnswers() {
		return rec, nil
	}
	return nil, nil
}

// closing describes how a request is closed.
type closing struct {
	by             actors.Actor
	state          State
	feedback, mode string
	mail           func(Request) mail.Outgoing
}

// close writes the outcome into a request.
func (how closing) close(r *Request) {
	r.State, r.By, r.Feedback, r.Mode = how.state, how.by.Name, how.feedback, how.mode
}

// conclude closes a request. The mail depends on the stored request, and packing it
// may write a file: so the request is read first, and the change checks that it is
// still open.
//
// Somebody else may close the request between the read and the change; admits decides
// inside the transaction, so that exactly one of two answers counts. The mail of the
// other one is dropped.
func (d *Requests) conclude(ctx context.Context, c *store.Job, id string, how closing) (Request, error) {
	now, err := d.Get(ctx, id)
	if err != nil {
		return Request{}, err
	}
	how.close(&now)
	message, err := d.packFor(c, how.by, now.Member, mailOf(now, how.mail))
	if err != nil {
		return Request{}, c.Abandon(err)
	}
	return actors.Act(ctx, c, how.by, func(t *store.Tx) (*receipt, error) {
		rec, err := load(t.Reader, id)
		if err != nil {
			return nil, err
		}
		if done, err := rec.admits(how.by, how.state); done || err != nil {
			c.Unused(err == nil)
			return &receipt{Op: c.Op, Request: rec}, err
		}
		mail.PutAnswer(t, message)
		how.close(&rec.Request)
		rec.closed(t)
		return &receipt{Op: c.Op, Request: rec}, nil
	})
}

// admits decides whether an actor may close a request in this way. done reports that
// it is closed and nothing is left to do.
//
// A person and covey itself (no name) may answer every request. Withdrawing or
// expiring a closed request is no error; a second answer is one, because whoever
// gives it believes that it counts.
func (r *Record) admits(a actors.Actor, state State) (done bool, err error) {
	answers := state == Approved || state == Denied
	if answers && a.Name != r.To && a.Name != actors.Operator && a.Name != "" {
		return false, fmt.Errorf("request %s of %s is %w: %s has to answer it", r.ID, r.Member, ErrNotAsked, r.To)
	}
	if r.Open() || !answers {
		return !r.Open(), nil
	}
	return false, fmt.Errorf("request %s is %w: it was %s by %s at %s", r.ID, ErrAnswered, r.State,
		cmp.Or(r.By, "covey"), r.Closed.Format(time.RFC3339))
}

// closed stores a request in its final state and drops the oldest closed one if there
// are too many. Numbers rise by one with each closed request, so the one to drop is
// found directly.
func (r *Record) closed(t *store.Tx) {
	r.Closed, r.Number = t.Now(), t.Next(store.ClosedCounter)
	t.Store(r.place(), r, r.Files.Blobs(), r.Files.Blobs())
	t.Mark(openBucket, r.openKey(), false)
	t.Put(closedBucket, store.NumKey(r.Number), []byte(r.ID))
	t.Emit(store.Event{Member: r.By, Request: r})
	if r.Number > maxClosed {
		drop(t, store.NumKey(r.Number-maxClosed))
	}
}

// maxClosed is how many closed requests are kept, for people who look back and for
// members that were cut off before they got the answer.
const maxClosed = 1000

// drop deletes the closed request that an entry of closedBucket names. The entry in
// askedBucket is deleted only if it still names this request: the same question may
// have been asked again.
func drop(t *store.Tx, closed []byte) {
	id := bytes.Clone(t.Bucket(closedBucket).Get(closed))
	if id == nil {
		return
	}
	rec, err := load(t.Reader, string(id))
	if err != nil {
		t.Fail(err)
		return
	}
	t.Delete(closedBucket, closed)
	if key := rec.askedKey(); key != nil && bytes.Equal(t.Bucket(askedBucket).Get(key), id) {
		t.Delete(askedBucket, key)
	}
	t.Erase(rec.place(), rec.Files.Blobs())
}

// load reads a request. It fails with ErrNotFound if there is none.
func load(r store.Reader, id string) (*Record, error) {
	var data []byte
	if id != "" {
		data = r.Bucket(requestsBucket).Get([]byte(id))
	}
	if data == nil {
		return nil, fmt.Errorf("request %q %w; covey inbox lists those that are open", store.Clip(id), store.ErrNotFound)
	}
	return store.Decode[Record]("request "+store.Clip(id), data)
}

// openIDs returns the ids of the open requests whose entries start with prefix, in
// the order in which they were made.
func openIDs(r store.Reader, prefix []byte) []string {
	var ids []string
	for k := range r.Bucket(openBucket).Each(prefix) {
		if _, id, ok := store.SplitName(k); ok {
			ids = append(ids, string(id))
		}
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}
