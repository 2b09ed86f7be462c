package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// RequestKind says what a request asks for.
type RequestKind string

// The kinds of requests.
const (
	AskPermission RequestKind = "permission" // to make a tool call
	AskPlan       RequestKind = "plan"       // to carry out a plan
	AskMerge      RequestKind = "merge"      // to merge work, or to keep what it touches
	AskShutdown   RequestKind = "shutdown"   // that a member leaves the team
	AskAttention  RequestKind = "attention"  // what is to become of a member in trouble
	AskApproval   RequestKind = "approval"   // to complete a task
)

// RequestState says what has become of a request.
type RequestState string

// The states of a request. All but the first are final.
const (
	RequestOpen      RequestState = "open"
	RequestApproved  RequestState = "approved"
	RequestDenied    RequestState = "denied"
	RequestExpired   RequestState = "expired"   // nobody answered in time: Default holds
	RequestWithdrawn RequestState = "withdrawn" // nobody wants the answer any more
)

// Request is something that a member cannot decide by itself, from the moment
// it is asked until long after it was answered. It has one answer.
type Request struct {
	ID      string          `json:"id"` // "r1", "r2", …; of an older covey a ULID
	Kind    RequestKind     `json:"kind"`
	Member  string          `json:"member"` // whom it is about: who waits for the answer
	To      string          `json:"to"`     // who is to answer: a member's name, or Operator
	Text    string          `json:"text"`   // for whoever answers
	Payload json.RawMessage `json:"payload,omitempty"`
	Created time.Time       `json:"created"`
	// Deadline is when Default becomes the answer; zero: never. It is for display
	// and for restarts: the store itself lets nothing expire, because its clock may
	// jump.
	Deadline time.Time    `json:"deadline,omitzero"`
	Default  bool         `json:"default"` // the answer if nobody gives one: yes or no
	State    RequestState `json:"state"`
	By       string       `json:"by,omitempty"`       // who answered or withdrew it; empty: covey
	Feedback string       `json:"feedback,omitempty"` // what was said with the answer
	Mode     string       `json:"mode,omitempty"`     // permission mode that goes with an approved plan
	Closed   time.Time    `json:"closed,omitzero"`    // when it was answered, expired or was withdrawn
	// Taken says that whoever asked has acted on the answer, so that the same
	// question is a new one.
	Taken bool `json:"taken,omitempty"`
	// Key names the question among those of the same kind and member; see Ask.
	Key string `json:"key,omitempty"`
	// Lasting makes a yes hold for every later request of the same Key.
	Lasting bool   `json:"lasting,omitempty"`
	Number  uint64 `json:"number,omitempty"` // place among the closed ones; 0: open
}

// Open says whether the request still waits for its answer.
func (r Request) Open() bool { return r.State == RequestOpen }

// Approved says whether the answer is yes, be it by default. An open or
// withdrawn request has no answer.
func (r Request) Approved() bool {
	return r.State == RequestApproved || r.State == RequestExpired && r.Default
}

// settles says whether a closed request answers the same question once more.
func (r Request) settles() bool {
	answered := r.State == RequestApproved || r.State == RequestDenied || r.State == RequestExpired
	return answered && !r.Taken || r.Lasting && r.State == RequestApproved
}

// NewRequest is a request to be made.
type NewRequest struct {
	Kind    RequestKind
	Member  string // whom it is about; never To
	To      string // a member's name, or Operator
	Text    string // 16 KiB at most
	Payload json.RawMessage
	Wait    time.Duration // until Request.Deadline; 0: for ever
	Default bool
	Key     string // 256 bytes at most; empty: a question like no other
	Lasting bool
	// Mail is what To is to be told of the request, in the same change; nil: nothing.
	// It is asked before the change, and its To is filled in. One without Text is
	// not sent.
	Mail func(Request) Outgoing
}

// request gives the receipt's request, or none.
func (r Receipt) request() Request {
	if r.Request == nil {
		return Request{}
	}
	return *r.Request
}

// maxOpenRequests bounds how many open requests there may be about one member.
// Who waits for an answer asks nothing else, so only a fault comes near it.
const maxOpenRequests = 1000

// Ask makes a request. If there is one about the same member, of the same kind
// and with the same Key, and it is open, or its answer has not been taken, or it
// was approved and is Lasting, that one is returned and nothing happens. So who
// was cut off while it waited asks again and gets the answer.
//
// It fails with ErrInvalid for what cannot be stored or would be answered by
// whom it is about, and with ErrFull when that member has 1,000 open requests or
// To has no room for the mail.
func (s *Store) Ask(ctx context.Context, a Actor, n NewRequest) (Request, error) {
	c := s.job("ask", a)
	d, err := s.draftRequest(ctx, c, n)
	if err != nil {
		return Request{}, s.abandon(c, err)
	}
	r, err := s.act(ctx, c, func(t *txn) (*receiptRecord, error) {
		rec, fresh, err := t.ask(a, d)
		c.unused = err == nil && !fresh
		return &receiptRecord{Request: rec}, err
	})
	return r.request(), err
}

// Ruling is what somebody says to a request.
type Ruling struct {
	Approve  bool
	Feedback string // 16 KiB at most
	Mode     string // see Request.Mode
	// Mail is what the member that the request is about is to be told, as in
	// NewRequest.
	Mail func(Request) Outgoing
}

// Answer answers a request. The first answer counts: a second one fails with
// ErrAnswered and says whose the first was. It fails with ErrNotAsked when the
// actor is neither To nor Operator nor covey itself, and with ErrNotFound when
// there is no such request.
func (s *Store) Answer(ctx context.Context, a Actor, id string, w Ruling) (Request, error) {
	c := s.job("answer", a)
	feedback, err := cleanShort("feedback", w.Feedback)
	if err != nil {
		return Request{}, err
	}
	if w.Mode != "" {
		if err := checkName("permission mode", w.Mode); err != nil {
			return Request{}, err
		}
	}
	state := RequestDenied
	if w.Approve {
		state = RequestApproved
	}
	return s.conclude(ctx, c, id, closing{
		state: state, feedback: feedback, mode: w.Mode, mail: w.Mail,
	})
}

// Expire lets the time of a request be up: its Default is the answer. mail is as
// in Answer and may be nil. A request that was closed before is returned as it
// is. It fails with ErrNotFound when there is none.
func (s *Store) Expire(ctx context.Context, id string, mail func(Request) Outgoing) (Request, error) {
	return s.conclude(ctx, s.job("expire", Actor{}), id, closing{state: RequestExpired, mail: mail})
}

// Withdraw closes a request without an answer, for the reason given. A request
// that was closed before is returned as it is. It fails with ErrNotFound when
// there is none.
func (s *Store) Withdraw(ctx context.Context, a Actor, id, reason string) (Request, error) {
	reason, err := cleanShort("reason", reason)
	if err != nil {
		return Request{}, err
	}
	return s.conclude(ctx, s.job("withdraw", a), id, closing{state: RequestWithdrawn, feedback: reason})
}

// Take notes that whoever asked has acted on the answer. It fails with
// ErrNotFound when there is no such request, and does nothing for an open one.
func (s *Store) Take(ctx context.Context, id string) error {
	c := &job{op: "take"}
	c.run = func(t *txn) error {
		rec, err := t.loadRequest(id)
		if err != nil || rec.Open() || rec.Taken {
			return err
		}
		rec.Taken = true
		t.store(rec.place(), rec, rec.blobs(), rec.blobs())
		return nil
	}
	return s.submit(ctx, c)
}

// Request gives one request. It fails with ErrNotFound when there is none; of
// those that are closed the newest thousand are kept.
func (s *Store) Request(ctx context.Context, id string) (Request, error) {
	var request Request
	err := s.view(ctx, func(r reader) error {
		rec, err := r.loadRequest(id)
		if err != nil {
			return err
		}
		request, err = rec.open(r.files)
		return err
	})
	return request, err
}

// Requests gives all requests that are kept, open and closed, in the order in
// which they were made, as far as the clock can tell.
func (s *Store) Requests(ctx context.Context) ([]Request, error) {
	return s.requestList(ctx, func(r reader) []string {
		var ids []string
		each(r.bucket(bucketRequests), nil, func(k, _ []byte) bool {
			ids = append(ids, string(k))
			return true
		})
		slices.SortFunc(ids, compareRequestIDs)
		return ids
	})
}

// OpenRequests gives the requests that wait for an answer, in the order of
// Requests. member is whom they are about; empty: anybody.
func (s *Store) OpenRequests(ctx context.Context, member string) ([]Request, error) {
	return s.requestList(ctx, func(r reader) []string {
		var prefix []byte
		if member != "" {
			prefix = nameKey(member)
		}
		return r.openRequests(prefix)
	})
}

// requestList reads the requests with the ids that pick gives.
func (s *Store) requestList(ctx context.Context, pick func(reader) []string) ([]Request, error) {
	var list []Request
	err := s.view(ctx, func(r reader) error {
		list = []Request{}
		for _, id := range pick(r) {
			rec, err := r.loadRequest(id)
			if err != nil {
				return err
			}
			request, err := rec.open(r.files)
			if err != nil {
				return err
			}
			list = append(list, request)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	return list, nil
}

// Asked gives the newest request that asks a question: the one about this member,
// of this kind and with this Key. false: there is none, or it is no longer kept.
func (s *Store) Asked(ctx context.Context, member string, kind RequestKind, key string) (Request, bool, error) {
	var request Request
	found := false
	if key == "" {
		return Request{}, false, nil
	}
	question := (&requestRecord{Request: Request{Member: member, Kind: kind, Key: key}}).askedKey()
	err := s.view(ctx, func(r reader) error {
		id := r.bucket(bucketAsked).Get(question)
		if found = id != nil; !found {
			return nil
		}
		rec, err := r.loadRequest(string(id))
		if err != nil {
			return err
		}
		request, err = rec.open(r.files)
		return err
	})
	if err != nil {
		return Request{}, false, fmt.Errorf("request of %s: %w", clip(member), err)
	}
	return request, found, nil
}
