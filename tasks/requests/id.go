package requests

import (
	"cmp"
	"context"
	"strings"

	"github.com/coveyteam/covey/tasks/store"
)

// idMark is the prefix of the ids of requests (r1, r2, …), which distinguishes them
// from ids of tasks.
const idMark = "r"

// idOf returns the id of the n-th request.
func idOf(n uint64) string { return idMark + store.FormatID(n) }

// numberOf returns the number in a request's id; ok is false if it is none.
func numberOf(id string) (n uint64, ok bool) {
	digits, ok := strings.CutPrefix(id, idMark)
	if !ok {
		return 0, false
	}
	return store.ParseID(digits)
}

// compareIDs orders ids as the requests were made.
func compareIDs(a, b string) int {
	n, _ := numberOf(a)
	m, _ := numberOf(b)
	return cmp.Compare(n, m)
}

// next reserves a number for a request. A number that is not used in the end is
// skipped.
func (d *Requests) next(ctx context.Context) (uint64, error) {
	last, err := store.View(ctx, d.db, "request id", func(r store.Reader) (uint64, error) { return r.Count(store.RequestCounter), nil })
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drafted = max(d.drafted, last) + 1
	return d.drafted, nil
}

// Skip reserves the number of a request.
func Skip(t *store.Tx, id string) {
	n, _ := numberOf(id)
	t.Raise(store.RequestCounter, n)
}

// Find returns the request that a person means by text: its id in any case. It fails with
// ErrNotFound if there is none.
func (d *Requests) Find(ctx context.Context, text string) (Request, error) {
	return d.Get(ctx, strings.ToLower(text))
}
