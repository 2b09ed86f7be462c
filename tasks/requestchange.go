package tasks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// requestRecord is a request as stored. It stands under its id in
// bucketRequests; bucketOpen lists it while it is open, bucketClosed from then
// on, and bucketAsked holds the newest one of each key.
type requestRecord struct {
	Request
	Files files `json:"files,omitempty"`
}

func (r *requestRecord) blobs() []blobRef { return r.Files.refs() }
func (r *requestRecord) place() place     { return place{bucketRequests, []byte(r.ID)} }

// openKey lists an open request under whom it is about.
func (r *requestRecord) openKey() []byte { return nameKey(r.Member, []byte(r.ID)...) }

// askedKey names the question that a request asks; nil: it is like no other.
//
// Member, kind and key are joined so that no two different ones give the same bytes.
func (r *requestRecord) askedKey() []byte {
	if r.Key == "" {
		return nil
	}
	return nameKey(r.Member, nameKey(string(r.Kind), []byte(r.Key)...)...)
}

// open fills in the payload if it is in a file.
func (r *requestRecord) open(b *blobs) (Request, error) {
	request := r.Request
	if ref, inFile := r.Files["payload"]; inFile {
		text, err := b.read(ref)
		if err != nil {
			return Request{}, fmt.Errorf("request %s: %w", r.ID, err)
		}
		request.Payload = json.RawMessage(text)
	}
	return request, nil
}

// requestDraft is a NewRequest that was checked and packed.
type requestDraft struct {
	rec  *requestRecord // without times and state
	wait time.Duration
	mail *messageRecord // nil: none
}

// draftRequest gives a request its id before the change, so that what is said
// of it can name it.
//
// Long payloads and texts go into files here, outside of the transaction, so that the
// one writer does not wait for the disk. If the change comes to nothing, c knows the
// files and they are removed.
func (s *Store) draftRequest(ctx context.Context, c *job, n NewRequest) (requestDraft, error) {
	if err := n.check(); err != nil {
		return requestDraft{}, err
	}
	number, err := s.nextRequest(ctx)
	if err != nil {
		return requestDraft{}, err
	}
	rec := &requestRecord{Request: Request{
		ID: requestID(number), Kind: n.Kind, Member: n.Member, To: n.To, Default: n.Default,
		Key: n.Key, Lasting: n.Lasting, State: RequestOpen,
	}}
	if rec.Text, err = cleanShort("text of the request", n.Text); err != nil {
		return requestDraft{}, err
	}
	payload, err := s.packJSON(c, "payload", n.Payload)
	if err != nil {
		return requestDraft{}, err
	}
	rec.Payload = json.RawMessage(payload.text)
	if payload.file != nil {
		rec.Files = files{"payload": *payload.file}
	}
	seen := rec.Request
	seen.Payload = n.Payload
	mail, err := s.packFor(c, n.To, seen, n.Mail)
	return requestDraft{rec: rec, wait: n.Wait, mail: mail}, err
}

// check refuses what cannot be stored, and a member that would answer itself.
func (n NewRequest) check() error {
	kinds := []RequestKind{
		AskPermission, AskPlan, AskMerge, AskShutdown, AskAttention, AskApproval,
	}
	if !slices.Contains(kinds, n.Kind) {
		return fmt.Errorf("%w: a request of kind %q", ErrInvalid, clip(string(n.Kind)))
	}
	for what, name := range map[string]string{"member of the request": n.Member, "who is to answer": n.To} {
		if err := checkName(what, name); err != nil {
			return err
		}
	}
	if n.Member == n.To {
		return fmt.Errorf("%w: %s cannot answer a request about itself; put it to another member or to a person",
			ErrInvalid, n.Member)
	}
	if n.Key != "" {
		return checkName("key of the request", n.Key)
	}
	return nil
}

// packFor packs the mail that goes to one reader with a change of r; nil when
// there is none.
func (s *Store) packFor(c *job, to string, r Request, mail func(Request) Outgoing) (*messageRecord, error) {
	if mail == nil {
		return nil, nil
	}
	out := mail(r)
	if out.Text == "" {
		return nil, nil
	}
	out.To = []string{to}
	m, err := s.packMessage(c, &out)
	if err != nil {
		return nil, err
	}
	m.From = c.actor.Name
	return &m, nil
}

// ask stores a draft, unless the question has been asked before; fresh says
// that it has not.
//
// All that can refuse comes before the first write. maxOpenRequests bounds what a member
// in a loop can pile up before people.
func (t *txn) ask(a Actor, d requestDraft) (rec *requestRecord, fresh bool, err error) {
	if before, err := t.askedBefore(d.rec.askedKey()); err != nil || before != nil {
		return before, false, err
	}
	if n := len(t.openRequests(nameKey(d.rec.Member))); n >= maxOpenRequests {
		return nil, false, fmt.Errorf("%w: %d requests about %s are open; answer or withdraw some of them",
			ErrFull, n, d.rec.Member)
	}
	copied := *d.rec // a change may run twice
	rec = &copied
	if err := t.mailFor(d.rec.To, d.mail); err != nil {
		return nil, false, err
	}
	rec.Created = t.now
	if d.wait > 0 {
		rec.Deadline = t.now.Add(d.wait)
	}
	number, _ := requestNumber(rec.ID)
	t.counts.asked = max(t.counts.asked, number)
	t.store(rec.place(), rec, rec.blobs(), nil)
	t.mark(bucketOpen, rec.openKey(), true)
	if key := rec.askedKey(); key != nil {
		t.put(bucketAsked, key, []byte(rec.ID))
	}
	t.emit(eventRecord{Member: a.Name, Request: rec})
	return rec, true, nil
}

// askedBefore finds the request that answers a question already, or will.
//
// An open request will answer. An answered one does until somebody has acted on it, and
// a lasting yes does for good. Any other lets the question be asked again.
func (r reader) askedBefore(key []byte) (*requestRecord, error) {
	if key == nil {
		return nil, nil
	}
	id := r.bucket(bucketAsked).Get(key)
	if id == nil {
		return nil, nil
	}
	rec, err := r.loadRequest(string(id))
	if err != nil {
		return nil, fmt.Errorf("%w: an index names a request that cannot be read: %v", ErrCorrupt, err)
	}
	if rec.Open() || rec.settles() {
		return rec, nil
	}
	return nil, nil
}

// mailFor sends the mail that belongs to a change, if there is any. It fails
// before the first write.
func (t *txn) mailFor(to string, mail *messageRecord) error {
	if mail == nil {
		return nil
	}
	_, err := t.send(*mail, []string{to})
	return err
}

// closing is how a request comes to its end.
type closing struct {
	state          RequestState
	feedback, mode string
	mail           func(Request) Outgoing
}

// conclude closes a request. What mail says depends on the request as it is
// stored, and packing it may take a file: so the request is read before, and the
// change looks whether it is still open.
//
// Between the first read and the change somebody else may have closed it; admits decides
// that inside of the transaction, so that of two answers exactly one counts. Mail that
// was packed for the other one is dropped (c.unused).
func (s *Store) conclude(ctx context.Context, c *job, id string, how closing) (Request, error) {
	now, err := s.Request(ctx, id)
	if err != nil {
		return Request{}, err
	}
	after := now
	after.State, after.By, after.Feedback, after.Mode = how.state, c.actor.Name, how.feedback, how.mode
	mail, err := s.packFor(c, now.Member, after, how.mail)
	if err != nil {
		return Request{}, s.abandon(c, err)
	}
	r, err := s.act(ctx, c, func(t *txn) (*receiptRecord, error) {
		rec, err := t.loadRequest(id)
		if err != nil {
			return nil, err
		}
		if done, err := rec.admits(c.actor, how.state); done || err != nil {
			c.unused = err == nil
			return &receiptRecord{Request: rec}, err
		}
		if err := t.mailFor(rec.Member, mail); err != nil {
			return nil, err
		}
		rec.State, rec.By, rec.Feedback, rec.Mode = how.state, c.actor.Name, how.feedback, how.mode
		t.closeRequest(c.actor, rec)
		return &receiptRecord{Request: rec}, nil
	})
	return r.request(), err
}

// admits decides whether an actor may close a request in that way. done says
// that it is closed and that this is as good.
//
// A person may answer everything, covey itself (no name) too. To withdraw or to expire
// what is closed is done already and no error; a second answer is one, for whoever gives
// it believes that it counts.
func (r *requestRecord) admits(a Actor, state RequestState) (done bool, err error) {
	answers := state == RequestApproved || state == RequestDenied
	if answers && a.Name != r.To && a.Name != Operator && a.Name != "" {
		return false, fmt.Errorf("request %s of %s is %w: it was put to %s", r.ID, r.Member, ErrNotAsked, r.To)
	}
	if r.Open() || !answers {
		return !r.Open(), nil
	}
	return false, fmt.Errorf("request %s is %w: it was %s by %s at %s", r.ID, ErrAnswered, r.State,
		cmp.Or(r.By, "covey"), r.Closed.Format(time.RFC3339))
}

// closeRequest stores a request in its last state and drops the oldest closed
// one if there are too many.
//
// Numbers rise by one with each request that is closed, so that the one to drop is found
// without a look at the others.
func (t *txn) closeRequest(a Actor, rec *requestRecord) {
	t.counts.request++
	rec.Closed, rec.Number = t.now, t.counts.request
	t.store(rec.place(), rec, rec.blobs(), rec.blobs())
	t.mark(bucketOpen, rec.openKey(), false)
	t.put(bucketClosed, numKey(rec.Number), []byte(rec.ID))
	t.emit(eventRecord{Member: a.Name, Request: rec})
	if rec.Number > maxClosedRequests {
		t.dropRequest(numKey(rec.Number - maxClosedRequests))
	}
}

// maxClosedRequests is how many closed requests are kept, for people who look
// back and for members that were cut off before they had the answer.
const maxClosedRequests = 1000

// dropRequest forgets the closed request that an entry of bucketClosed names.
//
// The entry of the key goes along only if it still names this request: the same question
// may have been asked again since.
func (t *txn) dropRequest(closed []byte) {
	id := bytes.Clone(t.bucket(bucketClosed).Get(closed))
	if id == nil {
		return
	}
	rec, err := t.loadRequest(string(id))
	if err != nil {
		t.fail(err)
		return
	}
	t.del(bucketClosed, closed)
	if key := rec.askedKey(); key != nil && bytes.Equal(t.bucket(bucketAsked).Get(key), id) {
		t.del(bucketAsked, key)
	}
	t.erase(rec.place(), rec.blobs())
}

// loadRequest reads a request. It fails with ErrNotFound when there is none.
func (r reader) loadRequest(id string) (*requestRecord, error) {
	var data []byte
	if id != "" {
		data = r.bucket(bucketRequests).Get([]byte(id))
	}
	if data == nil {
		return nil, fmt.Errorf("request %q %w; covey inbox lists those that are open", clip(id), ErrNotFound)
	}
	return decode[requestRecord]("request "+clip(id), data)
}

// openRequests gives the ids of the open requests whose entries start with
// prefix, in the order of the ids, which is that of their making.
func (r reader) openRequests(prefix []byte) []string {
	var ids []string
	each(r.bucket(bucketOpen), prefix, func(k, _ []byte) bool {
		if _, id, ok := splitName(k); ok {
			ids = append(ids, string(id))
		}
		return true
	})
	slices.SortFunc(ids, compareRequestIDs)
	return ids
}
