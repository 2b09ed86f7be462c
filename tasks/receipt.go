package tasks

import (
	"context"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"
)

// Receipt is the result of a change, stored with it for the tool call that requested
// it. Which fields are set depends on Op.
//
// Refusals of the store itself (ErrOwned and the like) leave no receipt: they changed
// nothing, so the call can simply be repeated.
type Receipt struct {
	// Op is the change: create, confirm, discard, add, claim, update, delete,
	// release, refuse, send, ask, answer, expire or withdraw.
	Op       string
	Task     *Task    // create, confirm, discard, claim, update, delete, refuse
	Tasks    []Task   // add, release
	Updated  []string // update: the names of the fields
	Messages []mail.Message
	Request  *requests.Request // ask, answer, expire, withdraw
	// Error is the reason given with discard and refuse.
	Error string
}

// task returns the receipt's task, or the zero Task.
func (r Receipt) task() Task {
	if r.Task == nil {
		return Task{}
	}
	return *r.Task
}

// Receipt returns the receipt of the last change made under a tool call of a member.
// The bool is false if there is none.
func (s *Store) Receipt(ctx context.Context, member, callID string) (Receipt, bool, error) {
	found := false
	what := "receipt of call " + store.Clip(callID) + " of " + store.Clip(member)
	receipt, err := store.View(ctx, s.db, what, func(r store.Reader) (Receipt, error) {
		data := actors.Last(r, member, callID)
		if found = data != nil; !found {
			return Receipt{}, nil
		}
		rec, err := store.Decode[receiptRecord]("receipt", data)
		if err != nil {
			return Receipt{}, err
		}
		return rec.Open(r.Blobs())
	})
	return receipt, found && err == nil, err
}

// receiptRecord is a Receipt as stored; see actors.Receipt.
type receiptRecord struct {
	Op       string           `json:"op"`
	Task     *taskRecord      `json:"task,omitempty"`
	Tasks    []taskRecord     `json:"tasks,omitempty"`
	Updated  []string         `json:"updated,omitempty"`
	Messages []mail.Record    `json:"messages,omitempty"`
	Request  *requests.Record `json:"request,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// Open returns the receipt as callers see it.
func (r *receiptRecord) Open(b *store.Blobs) (Receipt, error) {
	out := Receipt{Op: r.Op, Updated: r.Updated, Error: r.Error}
	if r.Task != nil {
		t, err := r.Task.Open(b)
		if err != nil {
			return Receipt{}, err
		}
		out.Task = &t
	}
	for _, rec := range r.Tasks {
		t, err := rec.Open(b)
		if err != nil {
			return Receipt{}, err
		}
		out.Tasks = append(out.Tasks, t)
	}
	var err error
	if out.Messages, err = mail.OpenAll(r.Messages, b); err != nil || r.Request == nil {
		return out, err
	}
	request, err := r.Request.Unpack(b)
	out.Request = &request
	return out, err
}
