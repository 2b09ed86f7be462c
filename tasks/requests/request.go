package requests

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// Kind describes what a request asks for.
type Kind string

// The kinds of requests.
const (
	AskPermission Kind = "permission" // to make a tool call
	AskPlan       Kind = "plan"       // to carry out a plan
	AskMerge      Kind = "merge"      // to merge work
	AskShutdown   Kind = "shutdown"   // that a member leaves the team
	AskAttention  Kind = "attention"  // what to do about a member in trouble
	AskApproval   Kind = "approval"   // to complete a task
	AskQuestion   Kind = "question"   // for a text, which is Feedback
	AskForm       Kind = "form"       // for values that a tool's server wants, which are Feedback
)

// State is the state of a request.
type State string

// The states of a request. All but the first are final.
const (
	Open      State = "open"
	Approved  State = "approved"
	Denied    State = "denied"
	Expired   State = "expired"   // nobody answered in time; Default is the answer
	Withdrawn State = "withdrawn" // the answer is no longer needed
)

// Request is something that a member cannot decide by itself, from the moment it is
// asked until long after it was answered. It has one answer.
type Request struct {
	ID      string          `json:"id"` // "r1", "r2", …
	Kind    Kind            `json:"kind"`
	Member  string          `json:"member"` // the member that it is about, which waits for the answer
	To      string          `json:"to"`     // who has to answer: a member's name, or actors.Operator
	Text    string          `json:"text"`   // for whoever answers
	Payload json.RawMessage `json:"payload,omitempty"`
	Created time.Time       `json:"created"`
	// Deadline is when Default becomes the answer; zero: never. It is for display and
	// for restarts: the store itself expires nothing, because its clock may jump.
	Deadline time.Time `json:"deadline,omitzero"`
	Default  bool      `json:"default"` // the answer if nobody gives one
	State    State     `json:"state"`
	By       string    `json:"by,omitempty"`       // the actor that answered or withdrew it; empty: covey
	Feedback string    `json:"feedback,omitempty"` // text that comes with the answer
	Mode     string    `json:"mode,omitempty"`     // permission mode that goes with an approved plan
	Closed   time.Time `json:"closed,omitzero"`    // when it was answered, expired or was withdrawn
	// Taken means that the asking member has acted on the answer, so that the same
	// question is a new one.
	Taken bool `json:"taken,omitempty"`
	// Key names the question among those of the same kind and member; see Ask.
	Key string `json:"key,omitempty"`
	// Lasting makes a yes hold for every later request of the same Key.
	Lasting bool   `json:"lasting,omitempty"`
	Number  uint64 `json:"number,omitempty"` // number among the closed ones; 0: open
}

// Open reports whether the request still waits for its answer.
func (r Request) Open() bool { return r.State == Open }

// Approved reports whether the answer is yes, given or by default. An open or
// withdrawn request has no answer.
func (r Request) Approved() bool {
	return r.State == Approved || r.State == Expired && r.Default
}

// stillAnswers reports whether a closed request also answers the same question asked
// again.
func (r Request) stillAnswers() bool {
	answered := r.State == Approved || r.State == Denied || r.State == Expired
	return answered && !r.Taken || r.Lasting && r.State == Approved
}

// New describes a request to make.
type New struct {
	Kind    Kind
	Member  string // the member that it is about; never To
	To      string // a member's name, or actors.Operator
	Text    string // 16 KiB at most
	Payload json.RawMessage
	Wait    time.Duration // until Request.Deadline; 0: for ever
	Default bool
	Key     string // 256 bytes at most; empty: the question is unique
	Lasting bool
	// Mail returns the message to To about the request, which is sent in the same
	// change; nil: none. It is called before the change, and its To is filled in. A
	// message without Text is not sent.
	Mail func(Request) mail.Outgoing
}

// maxOpen bounds the open requests about one member. A member that waits for an
// answer asks nothing else, so only a bug comes near it.
const maxOpen = 1000

// Requests keeps the requests of a team.
type Requests struct {
	db    *store.DB
	boxes *mail.Boxes

	mu      sync.Mutex // guards drafted
	drafted uint64     // the last number that was reserved
}

// NewRequests returns the requests in db. boxes deliver the mail about them.
func NewRequests(db *store.DB, boxes *mail.Boxes) *Requests { return &Requests{db: db, boxes: boxes} }

// Ask makes a request. If there is one about the same member, of the same kind and
// with the same Key that is open, or whose answer was not taken, or that was approved
// and is Lasting, Ask returns that one and changes nothing. So a member that was cut
// off while it waited can ask again and gets the answer.
//
// Ask fails with ErrInvalid if n cannot be stored or n.Member equals n.To, and with
// ErrFull if that member has 1,000 open requests or To has no room for the mail.
func (d *Requests) Ask(ctx context.Context, a actors.Actor, n New) (Request, error) {
	c := d.db.Job("ask")
	r, err := d.draft(ctx, c, a, n)
	if err != nil {
		return Request{}, c.Abandon(err)
	}
	return actors.Act(ctx, c, a, func(t *store.Tx) (*receipt, error) {
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

// Open returns the request.
func (r *receipt) Open(b *store.Blobs) (Request, error) { return r.Request.Unpack(b) }

// Ruling is an answer to a request.
type Ruling struct {
	Approve  bool
	Feedback string // 16 KiB at most
	Mode     string // see Request.Mode
	// Mail returns the message to the member that the request is about, as in New.
	Mail func(Request) mail.Outgoing
}

// Answer answers a request. The first answer counts: a second one fails with
// ErrAnswered, and the error says who gave the first. Answer fails with ErrNotAsked
// if the actor is neither To nor actors.Operator nor covey itself, and with
// ErrNotFound if there is no such request.
func (d *Requests) Answer(ctx context.Context, a actors.Actor, id string, w Ruling) (Request, error) {
	c := d.db.Job("answer")
	feedback, err := store.CleanShort("feedback", w.Feedback)
	if err != nil {
		return Request{}, err
	}
	if w.Mode != "" {
		if err := store.CheckName("permission mode", w.Mode); err != nil {
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

// Expire ends the time of a request: its Default is the answer. mail is as in Ruling
// and may be nil. A request that is already closed is returned unchanged. Expire
// fails with ErrNotFound if there is none.
func (d *Requests) Expire(ctx context.Context, id string, mail func(Request) mail.Outgoing) (Request, error) {
	return d.conclude(ctx, d.db.Job("expire"), id, closing{state: Expired, mail: mail})
}

// Withdraw closes a request without an answer, for the reason given. A request that
// is already closed is returned unchanged. Withdraw fails with ErrNotFound if there
// is none.
func (d *Requests) Withdraw(ctx context.Context, a actors.Actor, id, reason string) (Request, error) {
	reason, err := store.CleanShort("reason", reason)
	if err != nil {
		return Request{}, err
	}
	return d.conclude(ctx, d.db.Job("withdraw"), id, closing{by: a, state: Withdrawn, feedback: reason})
}

// MarkTaken records that the asking member has acted on the answer. It fails with
// ErrNotFound if there is no such request, and does nothing for an open one.
func (d *Requests) MarkTaken(ctx context.Context, id string) error {
	return d.db.Job("mark taken").Submit(ctx, func(t *store.Tx) error {
		rec, err := load(t.Reader, id)
		if err != nil || rec.Open() || rec.Taken {
			return err
		}
		rec.Taken = true
		t.Store(rec.place(), rec, rec.Files.Blobs(), rec.Files.Blobs())
		return nil
	})
}

// Get returns one request. It fails with ErrNotFound if there is none. Of the closed
// ones, the newest thousand are kept.
func (d *Requests) Get(ctx context.Context, id string) (Request, error) {
	return store.View(ctx, d.db, "", func(r store.Reader) (Request, error) { return get(r, id) })
}

// get reads and opens a request.
func get(r store.Reader, id string) (Request, error) {
	rec, err := load(r, id)
	if err != nil {
		return Request{}, err
	}
	return rec.Unpack(r.Blobs())
}

// List returns all requests that are kept, open and closed, in the order in which
// they were made.
func (d *Requests) List(ctx context.Context) ([]Request, error) {
	return d.list(ctx, func(r store.Reader) []string {
		var ids []string
		for k := range r.Bucket(requestsBucket).Each(nil) {
			ids = append(ids, string(k))
		}
		slices.SortFunc(ids, compareIDs)
		return ids
	})
}

// Open returns the requests that wait for an answer, in the order of List: those
// about member, or all if member is empty.
func (d *Requests) Open(ctx context.Context, member string) ([]Request, error) {
	return d.list(ctx, func(r store.Reader) []string {
		var prefix []byte
		if member != "" {
			prefix = store.NameKey(member)
		}
		return openIDs(r, prefix)
	})
}

// list reads the requests with the ids that pick returns.
func (d *Requests) list(ctx context.Context, pick func(store.Reader) []string) ([]Request, error) {
	return store.View(ctx, d.db, "requests", func(r store.Reader) ([]Request, error) {
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

// Asked returns the newest request about this member, of this kind and with this Key.
// The bool is false if there is none, or it is no longer kept.
func (d *Requests) Asked(ctx context.Context, member string, kind Kind, key string) (Request, bool, error) {
	if key == "" {
		return Request{}, false, nil
	}
	question := (&Record{Request: Request{Member: member, Kind: kind, Key: key}}).askedKey()
	r, err := store.View(ctx, d.db, "request of "+store.Clip(member), func(r store.Reader) (Request, error) {
		id := r.Bucket(askedBucket).Get(question)
		if id == nil {
			return Request{}, nil
		}
		return get(r, string(id))
	})
	return r, r.ID != "", err
}
