package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks/kv"
)

// idMark is the prefix of the ids of requests (r1, r2, …), which distinguishes them
// from ids of tasks.
const idMark = "r"

// idOf returns the id of the n-th request.
func idOf(n uint64) string { return idMark + kv.FormatID(n) }

// numberOf returns the number in a request's id. The bool is false if there is none;
// older versions of covey used ULIDs.
func numberOf(id string) (uint64, bool) {
	digits, ok := strings.CutPrefix(id, idMark)
	if !ok {
		return 0, false
	}
	return kv.ParseID(digits)
}

// compareIDs orders ids as the requests were made. ULIDs, of older versions of covey,
// come first.
func compareIDs(a, b string) int {
	n, _ := numberOf(a)
	m, _ := numberOf(b)
	return cmp.Or(cmp.Compare(n, m), cmp.Compare(a, b))
}

// next reserves a number for a request. A number that is not used in the end is
// skipped.
func (d *Desk) next(ctx context.Context) (uint64, error) {
	last, err := kv.View(ctx, d.db, "request id", func(r kv.Reader) (uint64, error) { return r.Count(kv.RequestCounter), nil })
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drafted = max(d.drafted, last) + 1
	return d.drafted, nil
}

// Skip reserves the number of the request in an event.
func Skip(t *kv.Tx, event json.RawMessage) {
	var r Request
	if json.Unmarshal(event, &r) == nil {
		n, _ := numberOf(r.ID)
		t.Raise(kv.RequestCounter, n)
	}
}

// Find returns the request that a person means by text: its id in any case, or the
// start or end of a ULID of an older covey if exactly one open request has it. It
// fails with ErrNotFound if there is none, and with ErrInvalid if there are several.
func (d *Desk) Find(ctx context.Context, text string) (Request, error) {
	r, err := d.Get(ctx, text)
	if err == nil {
		return r, nil
	}
	if r, err := d.Get(ctx, strings.ToLower(text)); err == nil {
		return r, nil
	}
	open, openErr := d.Open(ctx, "")
	if openErr != nil {
		return Request{}, openErr
	}
	const enough = 4 // characters of a ULID
	part := strings.ToUpper(text)
	open = slices.DeleteFunc(open, func(r Request) bool {
		_, short := numberOf(r.ID)
		return short || len(part) < enough || !strings.HasPrefix(r.ID, part) && !strings.HasSuffix(r.ID, part)
	})
	switch len(open) {
	case 0:
		return r, err
	case 1:
		return open[0], nil
	}
	ids := make([]string, len(open))
	for i, r := range open {
		ids[i] = r.ID
	}
	return r, fmt.Errorf("%w: %s may mean %d requests: %s", kv.ErrInvalid, kv.Clip(text), len(open), strings.Join(ids, ", "))
}
