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
	"github.com/coveyteam/covey/tasks/kv"
	"github.com/coveyteam/covey/tasks/mail"
)

// Record is a request as stored. It stands under its id in
// requestsBucket; openBucket lists it while it is open, closedBucket from then
// on, and askedBucket holds the newest one of each key.
type Record struct {
	Request
	Files kv.Files `json:"files,omitempty"`
}

func (r *Record) place() kv.Place { return kv.Place{Bucket: requestsBucket, Key: []byte(r.ID)} }

// openKey lists an open request under whom it is about.
func (r *Record) openKey() []byte { return kv.NameKey(r.Member, []byte(r.ID)...) }

// askedKey names the question that a request asks; nil: it is like no other.
//
// Member, kind and key are joined so that no two different ones give the same bytes.
func (r *Record) askedKey() []byte {
	if r.Key == "" {
		return nil
	}
	return kv.NameKey(r.Member, kv.NameKey(string(r.Kind), []byte(r.Key)...)...)
}

// Unpack fills in the payload if it is in a file.
func (r *Record) Unpack(b *kv.Blobs) (Request, error) {
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

// draft is a New that was checked and packed.
type draft struct {
	rec  *Record // without times and state
	wait time.Duration
	mail mail.Packed
}

// draft gives a request its id before the change, so that what is said
// of it can name it.
//
// Long payloads and texts go into files here, outside of the transaction, so that the
// one writer does not wait for the disk. If the change comes to nothing, c knows the
// files and they are removed.
func (d *Desk) draft(ctx context.Context, c *kv.Job, a actors.Actor, n New) (draft, error) {
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
	if rec.Text, err = kv.CleanShort("text of the request", n.Text); err != nil {
		return draft{}, err
	}
	payload, err := c.PackJSON("payload", n.Payload)
	if err != nil {
		return draft{}, err
	}
	rec.Payload = json.RawMessage(rec.Files.Put("payload", payload))
	seen := rec.Request
	seen.Payload = n.Payload
	tell, err := d.packFor(c, a, n.To, mailOf(seen, n.Mail))
	return draft{rec: rec, wait: n.Wait, mail: tell}, err
}

// check refuses what cannot be stored, and a member that would answer itself.
func (n New) check() error {
	kinds := []Kind{
		AskPermission, AskPlan, AskMerge, AskShutdown, AskAttention, AskApproval,
	}
	if !slices.Contains(kinds, n.Kind) {
		return fmt.Errorf("%w: a request of kind %q", kv.ErrInvalid, kv.Clip(string(n.Kind)))
	}
	for what, name := range map[string]string{"member of the request": n.Member, "who is to answer": n.To} {
		if err := kv.CheckName(what, name); err != nil {
			return err
		}
	}
	if n.Member == n.To {
		return fmt.Errorf("%w: %s cannot answer a request about itself; put it to another member or to a person",
			kv.ErrInvalid, n.Member)
	}
	if n.Key != "" {
		return kv.CheckName("key of the request", n.Key)
	}
	return nil
}

// packFor packs the mail of a to one reader; one without text is for nobody.
func (d *Desk) packFor(c *kv.Job, a actors.Actor, to string, out mail.Outgoing) (mail.Packed, error) {
	if out.Text == "" {
		return mail.Packed{}, nil
	}
	out.To = []string{to}
	return d.boxes.Pack(c, a.Name, out)
}

// mailOf asks what is to be told of a request.
func mailOf(r Request, tell func(Request) mail.Outgoing) mail.Outgoing {
	if tell == nil {
		return mail.Outgoing{}
	}
	return tell(r)
}

// ask stores a draft, unless the question has been asked before; fresh says
// that it has not.
//
// All that can refuse comes before the first write. maxOpen bounds what a member
// in a loop can pile up before people.
func (d *Desk) ask(t *kv.Tx, a actors.Actor, q draft) (rec *Record, fresh bool, err error) {
	if before, err := askedBefore(t.Reader, q.rec.askedKey()); err != nil || before != nil {
		return before, false, err
	}
	if n := len(openIDs(t.Reader, kv.NameKey(q.rec.Member))); n >= maxOpen {
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
	t.Raise(kv.RequestCounter, number)
	t.Store(rec.place(), rec, rec.Files.Blobs(), nil)
	t.Mark(openBucket, rec.openKey(), true)
	if key := rec.askedKey(); key != nil {
		t.Put(askedBucket, key, []byte(rec.ID))
	}
	t.Emit(kv.Event{Member: a.Name, Request: rec})
	return rec, true, nil
}

// askedBefore finds the request that answers a question already, or will.
//
// An open request will answer. An answered one does until somebody has acted on it, and
// a lasting yes does for good. Any other lets the question be asked again.
func askedBefore(r kv.Reader, key []byte) (*Record, error) {
	if key == nil {
		return nil, nil
	}
	id := r.Bucket(askedBucket).Get(key)
	if id == nil {
		return nil, nil
	}
	rec, err := load(r, string(id))
	if err != nil {
		return nil, fmt.Errorf("%w: an index names a request that cannot be read: %v", kv.ErrCorrupt, err)
	}
	if rec.Open() || rec.settles() {
		return rec, nil
	}
	return nil, nil
}

// closing is how a request comes to its end.
type closing struct {
	by             actors.Actor
	state          State
	feedback, mode string
	mail           func(Request) mail.Outgoing
}

// close puts the end into a request.
func (how closing) close(r *Request) {
	r.State, r.By, r.Feedback, r.Mode = how.state, how.by.Name, how.feedback, how.mode
}

// conclude closes a request. What mail says depends on the request as it is
// stored, and packing it may take a file: so the request is read before, and the
// change looks whether it is still open.
//
// Between the first read and the change somebody else may have closed it; admits decides
// that inside of the transaction, so that of two answers exactly one counts. Mail that
// was packed for the other one is dropped.
func (d *Desk) conclude(ctx context.Context, c *kv.Job, id string, how closing) (Request, error) {
	now, err := d.Get(ctx, id)
	if err != nil {
		return Request{}, err
	}
	how.close(&now)
	tell, err := d.packFor(c, how.by, now.Member, mailOf(now, how.mail))
	if err != nil {
		return Request{}, c.Abandon(err)
	}
	return actors.Act(ctx, c, how.by, func(t *kv.Tx) (*receipt, error) {
		rec, err := load(t.Reader, id)
		if err != nil {
			return nil, err
		}
		if done, err := rec.admits(how.by, how.state); done || err != nil {
			c.Unused(err == nil)
			return &receipt{Op: c.Op, Request: rec}, err
		}
		if _, err := d.boxes.Put(t, tell); err != nil {
			return nil, err
		}
		how.close(&rec.Request)
		rec.closed(t)
		return &receipt{Op: c.Op, Request: rec}, nil
	})
}

// admits decides whether an actor may close a request in that way. done says
// that it is closed and that this is as good.
//
// A person may answer everything, covey itself (no name) too. To withdraw or to expire
// what is closed is done already and no error; a second answer is one, for whoever gives
// it believes that it counts.
func (r *Record) admits(a actors.Actor, state State) (done bool, err error) {
	answers := state == Approved || state == Denied
	if answers && a.Name != r.To && a.Name != actors.Operator && a.Name != "" {
		return false, fmt.Errorf("request %s of %s is %w: it was put to %s", r.ID, r.Member, ErrNotAsked, r.To)
	}
	if r.Open() || !answers {
		return !r.Open(), nil
	}
	return false, fmt.Errorf("request %s is %w: it was %s by %s at %s", r.ID, ErrAnswered, r.State,
		cmp.Or(r.By, "covey"), r.Closed.Format(time.RFC3339))
}

// closed stores a request in its last state and drops the oldest closed
// one if there are too many.
//
// Numbers rise by one with each request that is closed, so that the one to drop is found
// without a look at the others.
func (r *Record) closed(t *kv.Tx) {
	r.Closed, r.Number = t.Now(), t.Next(kv.ClosedCounter)
	t.Store(r.place(), r, r.Files.Blobs(), r.Files.Blobs())
	t.Mark(openBucket, r.openKey(), false)
	t.Put(closedBucket, kv.NumKey(r.Number), []byte(r.ID))
	t.Emit(kv.Event{Member: r.By, Request: r})
	if r.Number > maxClosed {
		drop(t, kv.NumKey(r.Number-maxClosed))
	}
}

// maxClosed is how many closed requests are kept, for people who look
// back and for members that were cut off before they had the answer.
const maxClosed = 1000

// drop forgets the closed request that an entry of closedBucket names.
//
// The entry of the key goes along only if it still names this request: the same question
// may have been asked again since.
func drop(t *kv.Tx, closed []byte) {
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

// load reads a request. It fails with ErrNotFound when there is none.
func load(r kv.Reader, id string) (*Record, error) {
	var data []byte
	if id != "" {
		data = r.Bucket(requestsBucket).Get([]byte(id))
	}
	if data == nil {
		return nil, fmt.Errorf("request %q %w; covey inbox lists those that are open", kv.Clip(id), kv.ErrNotFound)
	}
	return kv.Decode[Record]("request "+kv.Clip(id), data)
}

// openIDs gives the ids of the open requests whose entries start with
// prefix, in the order of the ids, which is that of their making.
func openIDs(r kv.Reader, prefix []byte) []string {
	var ids []string
	r.Bucket(openBucket).Each(prefix, func(k, _ []byte) bool {
		if _, id, ok := kv.SplitName(k); ok {
			ids = append(ids, string(id))
		}
		return true
	})
	slices.SortFunc(ids, compareIDs)
	return ids
}
