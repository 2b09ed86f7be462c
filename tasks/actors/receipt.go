package actors

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/coveyteam/covey/tasks/store"
)

// maxReceipts is how many receipts are kept for one member; the oldest is dropped
// first. They must reach back over the calls of one pass: older calls have their
// results in the transcript.
const maxReceipts = 1024

// A member that is cut off between a change and its answer repeats the call after the
// restart, with the same call id. The receipt makes that safe: it is stored with the
// change, so it exists exactly if the change happened.

// Receipt is the result of a change as its receipt stores it. Its JSON has those of
// the fields op, task, tasks, updated, messages, request and error that apply. T is
// the record, V the result.
type Receipt[T, V any] interface {
	*T
	// Open fills in the fields that are in files.
	Open(*store.Blobs) (V, error)
}

// Act makes a change in an actor's name: it refuses an old session, answers a
// repeated call from its receipt, and otherwise runs the change and stores its
// receipt.
func Act[T, V any, R Receipt[T, V]](ctx context.Context, c *store.Job, a Actor, run func(*store.Tx) (R, error)) (V, error) {
	var result, none V
	if err := a.check(); err != nil {
		return none, c.Abandon(err)
	}
	err := c.Submit(ctx, func(t *store.Tx) error {
		rec, err := once[T, V](t, c, a, run)
		if err != nil {
			return err
		}
		r, err := rec.Open(t.Blobs())
		if err == nil {
			result = r
		}
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// once runs a change unless it was made before under the same call id.
func once[T, V any, R Receipt[T, V]](t *store.Tx, c *store.Job, a Actor, run func(*store.Tx) (R, error)) (R, error) {
	c.Unused(false)
	if err := a.Admit(t.Reader); err != nil {
		return nil, err
	}
	if a.CallID == "" {
		return run(t)
	}
	key := callKey(a.Name, a.CallID, c.Op)
	if _, data := cutNum(t.Bucket(ReceiptsBucket).Get(key)); data != nil {
		c.Unused(true)
		rec, err := store.Decode[T]("receipt", data)
		return rec, err
	}
	rec, err := run(t)
	if err != nil {
		return nil, err
	}
	keep(t, a.Name, key, t.Encode(rec))
	return rec, nil
}

// keep stores a receipt and drops the member's oldest one if there are too many.
func keep(t *store.Tx, member string, key, rec []byte) {
	held, err := files(rec)
	if err != nil {
		t.Fail(err)
	}
	number := lastCall(t.Reader, member) + 1
	t.Put(ReceiptsBucket, key, append(store.NumKey(number), rec...))
	t.Refer(store.Place{Bucket: ReceiptsBucket, Key: key}, held, nil)
	t.Put(CallsBucket, store.NameNumKey(member, number), key)
	if number > maxReceipts {
		drop(t, store.NameNumKey(member, number-maxReceipts))
	}
}

// lastCall returns the number of a member's newest receipt, or 0.
func lastCall(r store.Reader, member string) uint64 {
	c := r.Bucket(CallsBucket).Cursor()
	k, _ := c.Seek(store.NameNumKey(member, math.MaxUint64))
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	if !bytes.HasPrefix(k, store.NameKey(member)) {
		return 0
	}
	return store.LastNum(k)
}

// drop deletes the receipt that an entry of CallsBucket names.
func drop(t *store.Tx, call []byte) {
	key := bytes.Clone(t.Bucket(CallsBucket).Get(call))
	if key == nil {
		return
	}
	_, data := cutNum(t.Bucket(ReceiptsBucket).Get(key))
	had, err := files(data)
	if err != nil {
		t.Fail(err)
		return
	}
	t.Erase(store.Place{Bucket: ReceiptsBucket, Key: key}, had)
	t.Delete(CallsBucket, call)
}

// files returns the payload files that a receipt needs.
func files(stored []byte) ([]store.BlobRef, error) {
	if !store.MayHoldFiles(stored) {
		return nil, nil
	}
	rec, err := store.Decode[struct {
		Task     store.Filed   `json:"task"`
		Tasks    []store.Filed `json:"tasks"`
		Messages []store.Filed `json:"messages"`
		Request  store.Filed   `json:"request"`
	}]("receipt", stored)
	if err != nil {
		return nil, err
	}
	list := append(rec.Task.Files.Blobs(), rec.Request.Files.Blobs()...)
	for _, f := range append(rec.Tasks, rec.Messages...) {
		list = append(list, f.Files.Blobs()...)
	}
	return store.Distinct(list), nil
}

// Last returns the receipt of the last change made under a tool call of a member, or
// nil.
func Last(r store.Reader, member, callID string) []byte {
	var newest uint64
	var data []byte
	for _, v := range r.Bucket(ReceiptsBucket).Each(callKey(member, callID, "")) {
		if n, rest := cutNum(v); n > newest {
			newest, data = n, rest
		}
	}
	return data
}

// callKey returns the key of a receipt; without op, the prefix of all keys of a call.
func callKey(member, callID, op string) []byte {
	return store.NameKey(member, store.NameKey(callID, []byte(op)...)...)
}

// cutNum splits a number off the start of a stored value.
func cutNum(v []byte) (uint64, []byte) {
	if len(v) < 8 {
		return 0, nil
	}
	return store.LastNum(v[:8]), v[8:]
}

// CheckReceipts checks the receipts, decoded as T, and their entries in CallsBucket.
func CheckReceipts[T any](c *store.Checker) {
	for k, v := range c.Bucket(ReceiptsBucket).Each(nil) {
		name, _, ok := store.SplitName(k)
		number, data := cutNum(v)
		_, err := store.Decode[T](fmt.Sprintf("receipt %q", k), data)
		if !ok || err != nil {
			c.Fault("receipt %q: %v", k, err)
			continue
		}
		call := store.NameNumKey(name, number)
		c.Expect(CallsBucket, call)
		c.SameKey(fmt.Sprintf("call %d of %s", number, name), c.Bucket(CallsBucket).Get(call), k)
		held, err := files(data)
		if err != nil {
			c.Fault("receipt %q: %v", k, err)
		}
		c.Needs(store.Place{Bucket: ReceiptsBucket, Key: k}, held)
	}
}
