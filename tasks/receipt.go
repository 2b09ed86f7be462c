package tasks

import (
	"bytes"
	"context"
	"fmt"
	"math"
)

// maxReceipts is how many receipts are kept for one member, oldest dropped
// first. It only has to reach back over the calls of one pass: older calls
// have their results in the transcript.
const maxReceipts = 1024

// Receipt is the result of a change, stored with it for the tool call that
// asked for it. Which fields are set depends on Op.
//
// Refusals of the store itself (ErrOwned and the like) leave no receipt: they
// changed nothing, nobody saw their answer, and asking again is as good.
type Receipt struct {
	// Op is the change: create, confirm, discard, add, claim, update, delete,
	// release, refuse, send, ask, answer, expire or withdraw.
	Op       string
	Task     *Task    // create, confirm, discard, claim, update, delete, refuse
	Tasks    []Task   // add, release
	Updated  []string // update: the names of the fields
	Messages []Message
	Request  *Request // ask, answer, expire, withdraw
	// Error is the reason given with discard and refuse.
	Error string
}

// Receipt gives the receipt of the last change that was made under a tool call
// of a member; false when there is none.
func (s *Store) Receipt(ctx context.Context, member, callID string) (Receipt, bool, error) {
	var receipt Receipt
	found := false
	err := s.view(ctx, func(r reader) error {
		found = false
		rec, err := r.lastReceipt(member, callID)
		if err != nil || rec == nil {
			return err
		}
		found = true
		receipt, err = rec.open(r.files)
		return err
	})
	if err != nil {
		return Receipt{}, false, fmt.Errorf("receipt of call %s of %s: %w", clip(callID), clip(member), err)
	}
	return receipt, found, nil
}

// lastReceipt finds the receipt with the highest number among those of a call.
func (r reader) lastReceipt(member, callID string) (*receiptRecord, error) {
	var newest uint64
	var data []byte
	each(r.bucket(bucketReceipts), callKey(member, callID, ""), func(_, v []byte) bool {
		if n, rest := cutNum(v); n > newest {
			newest, data = n, rest
		}
		return true
	})
	if data == nil {
		return nil, nil
	}
	return decode[receiptRecord]("receipt", data)
}

// A member that is cut off between a change and its answer asks again after the
// restart, with the same call id. The receipt is what makes asking again safe:
// it was stored with the change, so it is there exactly if the change happened.

// act makes a change in an actor's name: it refuses an old session, answers a
// repeated call from its receipt, and else runs c and keeps the receipt.
func (s *Store) act(ctx context.Context, c *job, run func(*txn) (*receiptRecord, error)) (Receipt, error) {
	var result Receipt
	c.run = func(t *txn) error {
		rec, err := t.once(c, run)
		if err != nil {
			return err
		}
		r, err := rec.open(t.files)
		if err == nil {
			result = r
		}
		return err
	}
	if err := c.actor.check(); err != nil {
		return Receipt{}, s.abandon(c, err)
	}
	if err := s.submit(ctx, c); err != nil {
		return Receipt{}, err
	}
	return result, nil
}

// check refuses names and call ids that cannot be keys.
func (a Actor) check() error {
	if a.Name != "" || a.Session != 0 {
		if err := checkName("actor", a.Name); err != nil {
			return err
		}
	}
	if a.CallID != "" {
		return checkName("call id", a.CallID)
	}
	return nil
}

// once runs c unless it has run before under the same call id.
func (t *txn) once(c *job, run func(*txn) (*receiptRecord, error)) (*receiptRecord, error) {
	c.unused = false
	if err := t.admit(c.actor); err != nil {
		return nil, err
	}
	if c.actor.CallID == "" {
		return run(t)
	}
	key := callKey(c.actor.Name, c.actor.CallID, c.op)
	if _, data := cutNum(t.bucket(bucketReceipts).Get(key)); data != nil {
		c.unused = true
		return decode[receiptRecord]("receipt", data)
	}
	rec, err := run(t)
	if err != nil {
		return nil, err
	}
	rec.Op = c.op
	t.keep(c.actor.Name, key, rec)
	return rec, nil
}

// keep stores a receipt and drops the member's oldest one if there are too many.
func (t *txn) keep(member string, key []byte, rec *receiptRecord) {
	number := t.lastCall(member) + 1
	t.put(bucketReceipts, key, append(numKey(number), t.encode(rec)...))
	t.refer(place{bucketReceipts, key}, rec.blobs(), nil)
	t.put(bucketCalls, nameNumKey(member, number), key)
	if number > maxReceipts {
		t.dropReceipt(nameNumKey(member, number-maxReceipts))
	}
}

// lastCall gives the number of a member's newest receipt; 0 without any.
func (r reader) lastCall(member string) uint64 {
	c := r.bucket(bucketCalls).Cursor()
	k, _ := c.Seek(nameNumKey(member, math.MaxUint64))
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	if !bytes.HasPrefix(k, nameKey(member)) {
		return 0
	}
	return lastNum(k)
}

// dropReceipt deletes the receipt that an entry of bucketCalls names.
func (t *txn) dropReceipt(call []byte) {
	key := bytes.Clone(t.bucket(bucketCalls).Get(call))
	if key == nil {
		return
	}
	var had []blobRef
	if _, data := cutNum(t.bucket(bucketReceipts).Get(key)); holdsFiles(data) {
		rec, err := decode[receiptRecord]("receipt", data)
		if err != nil {
			t.fail(err)
			return
		}
		had = rec.blobs()
	}
	t.erase(place{bucketReceipts, key}, had)
	t.del(bucketCalls, call)
}

// callKey is the key of a receipt; without op, the start of all keys of a call.
func callKey(member, callID, op string) []byte {
	return nameKey(member, nameKey(callID, []byte(op)...)...)
}

// cutNum splits a number off the start of a stored value.
func cutNum(v []byte) (uint64, []byte) {
	if len(v) < 8 {
		return 0, nil
	}
	return lastNum(v[:8]), v[8:]
}

// open gives the receipt as callers see it.
func (r *receiptRecord) open(b *blobs) (Receipt, error) {
	out := Receipt{Op: r.Op, Updated: r.Updated, Error: r.Error}
	if r.Task != nil {
		t, err := r.Task.open(b)
		if err != nil {
			return Receipt{}, err
		}
		out.Task = &t
	}
	for _, rec := range r.Tasks {
		t, err := rec.open(b)
		if err != nil {
			return Receipt{}, err
		}
		out.Tasks = append(out.Tasks, t)
	}
	for _, rec := range r.Messages {
		m, err := rec.open(b)
		if err != nil {
			return Receipt{}, fmt.Errorf("receipt: %w", err)
		}
		out.Messages = append(out.Messages, m)
	}
	if r.Request != nil {
		request, err := r.Request.open(b)
		if err != nil {
			return Receipt{}, fmt.Errorf("receipt: %w", err)
		}
		out.Request = &request
	}
	return out, nil
}
