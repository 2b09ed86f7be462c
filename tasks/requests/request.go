package requests

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/kv"
	"github.com/coveyteam/covey/tasks/mail"
)

// Kind says what a request asks for.
type Kind string

// The kinds of requests.
const (
	AskPermission Kind = "permission" // to make a tool call
	AskPlan       Kind = "plan"       // to carry out a plan
	AskMerge      Kind = "merge"      // to merge work, or to keep what it touches
	AskShutdown   Kind = "shutdown"   // that a member leaves the team
	AskAttention  Kind = "attention"  // what is to become of a member in trouble
	AskApproval   Kind = "approval"   // to complete a task
)

// State says what has become of a request.
type State string

// The states of a request. All but the first are final.
const (
	Open      State = "open"
	Approved  State = "approved"
	Denied    State = "denied"
	Expired   State = "expired"   // nobody answered in time: Default holds
	Withdrawn State = "withdrawn" // nobody wants the answer any more
)

// Request is something that a member cannot decide by itself, from the moment
// it is asked until long after it was answered. It has one answer.
type Request struct {
	ID      string          `json:"id"` // "r1", "r2", …; of an older covey a ULID
	Kind    Kind            `json:"kind"`
	Member  string          `json:"member"` // whom it is about: who waits for the answer
	To      string          `json:"to"`     // who is to answer: a member's name, or actors.Operator
	Text    string          `json:"text"`   // for whoever answers
	Payload json.RawMessage `json:"payload,omitempty"`
	Created time.Time       `json:"created"`
	// Deadline is when Default becomes the answer; zero: never. It is for display
	// and for restarts: the store itself lets nothing expire, because its clock may
	// jump.
	Deadline time.Time `json:"deadline,omitzero"`
	Default  bool      `json:"default"` // the answer if nobody gives one: yes or no
	State    State     `json:"state"`
	By       string    `json:"by,omitempty"`       // who answered or withdrew it; empty: covey
	Feedback string    `json:"feedback,omitempty"` // what was said with the answer
	Mode     string    `json:"mode,omitempty"`     // permission mode that goes with an approved plan
	Closed   time.Time `json:"closed,omitzero"`    // when it was answered, expired or was withdrawn
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
func (r Request) Open() bool { return r.State == Open }

// Approved says whether the answer is yes, be it by default. An open or
// withdrawn request has no answer.
func (r Request) Approved() bool {
	return r.State == Approved || r.State == Expired && r.Default
}

// settles says whether a closed request answers the same question once more.
func (r Request) settles() bool {
	answered := r.State == Approved || r.State == Denied || r.State == Expired
	return answered && !r.Taken || r.Lasting && r.State == Approved
}

// New is a request to be made.
type New struct {
	Kind    Kind
	Member  string // whom it is about; never To
	To      string // a member's name, or actors.Operator
	Text    string // 16 KiB at most
	Payload json.RawMessage
	Wait    time.Duration // until Request.Deadline; 0: for ever
	Default bool
	Key     string // 256 bytes at most; empty: a question like no other
	Lasting bool
	// Mail is what To is to be told of the request, in the same change; nil: nothing.
	// It is asked before the change, and its To is filled in. One without Text is
	// not sent.
	Mail func(Request) mail.Outgoing
}

// maxOpen bounds how many open requests there may be about one member.
// Who waits for an answer asks nothing else, so only a fault comes near it.
const maxOpen = 1000

// Desk keeps the requests of a team.
type Desk struct {
	db    *kv.DB
	boxes *mail.Boxes

	mu      sync.Mutex // guards drafted
	drafted uint64     // the last number of a request that was drafted
}

// NewDesk gives the requests in db, of which boxes tell.
func NewDesk(db *kv.DB, boxes *mail.Boxes) *Desk { return &Desk{db: db, boxes: boxes} }

// Ask makes a request. If there is one about the same member, of the same kind
// and with the same Key, and it is open, or its answer has not been taken, or it
// was approved and is Lasting, that one is returned and nothing happens. So who
// was cut off while it waited asks again and gets the answer.
//
// It fails with ErrInvalid for what cannot be stored or would be answered by
// whom it is about, and with ErrFull when that member has 1,000 open requests or
// To has no room for the mail.
func (d *Desk) Ask(ctx context.Context, a actors.Actor, n New) (Request, error) {
	c := d.db.Job("ask")
	r, err := d.draft(ctx, c, a, n)
	if err != nil {
		return Request{}, c.Abandon(err)
	}
	return actors.Act(ctx, c, a, func(t *kv.Tx) (*receipt, error) {
		rec, fresh, err := d.ask(t, a, r)
		c.Unused(err == nil && !fresh)
		return &receipt{Op: c.Op, Request: rec}, err
	})
}

// receipt is the result of a change as stored.
type receipt struct {
	Op      string  `json:"op"`
	Request *Record `json:"request,omitempty"`
}

// Open gives the request.
func (r *receipt) Open(b *kv.Blobs) (Request, error) { return r.Request.Unpack(b) }

// Ruling is what somebody says to a request.
type Ruling struct {
	Approve  bool
	Feedback string // 16 KiB at most
	Mode     string // see Request.Mode
	// Mail is what the member that the request is about is to be told, as in
	// New.
	Mail func(Request) mail.Outgoing
}

// Answer answers a request. The first answer counts: a second one fails with
// ErrAnswered and says whose the first was. It fails with ErrNotAsked when the
// actor is neither To nor actors.Operator nor covey itself, and with ErrNotFound when
// there is no such request.
func (d *Desk) Answer(ctx context.Context, a actors.Actor, id string, w Ruling) (Request, error) {
	c := d.db.Job("answer")
	feedback, err := kv.CleanShort("feedback", w.Feedback)
	if err != nil {
		return Request{}, err
	}
	if w.Mode != "" {
		if err := kv.CheckName("permission mode", w.Mode); err != nil {
			return Request{}, err
		}
	}
	state := Denied
	if w.Approve {
		state = Approved
	}
	return d.conclude(ctx, c, id, closing{
		by: a, state: state, feedback: feedback, mode: w.Mode, mail: w.Mail,
	})
}

// Expire lets the time of a request be up: its Default is the answer. mail is as
// in Answer and may be nil. A request that was closed before is returned as it
// is. It fails with ErrNotFound when there is none.
func (d *Desk) Expire(ctx context.Context, id string, mail func(Request) mail.Outgoing) (Request, error) {
	return d.conclude(ctx, d.db.Job("expire"), id, closing{state: Expired, mail: mail})
}

// Withdraw closes a request without an answer, for the reason given. A request
// that was closed before is returned as it is. It fails with ErrNotFound when
// there is none.
func (d *Desk) Withdraw(ctx context.Context, a actors.Actor, id, reason string) (Request, error) {
	reason, err := kv.CleanShort("reason", reason)
	if err != nil {
		return Request{}, err
	}
	return d.conclude(ctx, d.db.Job("withdraw"), id, closing{by: a, state: Withdrawn, feedback: reason})
}

// Take notes that whoever asked has acted on the answer. It fails with
// ErrNotFound when there is no such request, and does nothing for an open one.
func (d *Desk) Take(ctx context.Context, id string) error {
	return d.db.Job("take").Submit(ctx, func(t *kv.Tx) error {
		rec, err := load(t.Reader, id)
		if err != nil || rec.Open() || rec.Taken {
			return err
		}
		rec.Taken = true
		t.Store(rec.place(), rec, rec.Files.Blobs(), rec.Files.Blobs())
		return nil
	})
}

// Get gives one request. It fails with ErrNotFound when there is none; of
// those that are closed the newest thousand are kept.
func (d *Desk) Get(ctx context.Context, id string) (Request, error) {
	return kv.View(ctx, d.db, "", func(r kv.Reader) (Request, error) { return get(r, id) })
}

// get reads and opens a request.
func get(r kv.Reader, id string) (Request, error) {
	rec, err := load(r, id)
	if err != nil {
		return Request{}, err
	}
	return rec.Unpack(r.Blobs())
}

// List gives all requests that are kept, open and closed, in the order in
// which they were made, as far as the clock can tell.
func (d *Desk) List(ctx context.Context) ([]Request, error) {
	return d.list(ctx, func(r kv.Reader) []string {
		var ids []string
		r.Bucket(requestsBucket).Each(nil, func(k, _ []byte) bool {
			ids = append(ids, string(k))
			return true
		})
		slices.SortFunc(ids, compareIDs)
		return ids
	})
}

// Open gives the requests that wait for an answer, in the order of List. member is
// whom they are about; empty: anybody.
func (d *Desk) Open(ctx context.Context, member string) ([]Request, error) {
	return d.list(ctx, func(r kv.Reader) []string {
		var prefix []byte
		if member != "" {
			prefix = kv.NameKey(member)
		}
		return openIDs(r, prefix)
	})
}

// list reads the requests with the ids that pick gives.
func (d *Desk) list(ctx context.Context, pick func(kv.Reader) []string) ([]Request, error) {
	return kv.View(ctx, d.db, "requests", func(r kv.Reader) ([]Request, error) {
		list := []Request{}
		for _, id := range pick(r) {
			request, err := get(r, id)
			if err != nil {
				return nil, err
			}
			list = append(list, request)
		}
		return list, nil
	})
}

// Asked gives the newest request that asks a question: the one about this member,
// of this kind and with this Key. false: there is none, or it is no longer kept.
func (d *Desk) Asked(ctx context.Context, member string, kind Kind, key string) (Request, bool, error) {
	if key == "" {
		return Request{}, false, nil
	}
	question := (&Record{Request: Request{Member: member, Kind: kind, Key: key}}).askedKey()
	r, err := kv.View(ctx, d.db, "request of "+kv.Clip(member), func(r kv.Reader) (Request, error) {
		id := r.Bucket(askedBucket).Get(question)
		if id == nil {
			return Request{}, nil
		}
		return get(r, string(id))
	})
	return r, r.ID != "", err
}
