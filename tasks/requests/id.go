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

// idMark begins the ids of requests (r1, r2, …), so that none looks like a task's.
const idMark = "r"

// idOf is the id of the n-th request.
func idOf(n uint64) string { return idMark + kv.FormatID(n) }

// numberOf reads a request's id; false: it is none, or the ULID of an older covey.
func numberOf(id string) (uint64, bool) {
	digits, ok := strings.CutPrefix(id, idMark)
	if !ok {
		return 0, false
	}
	return kv.ParseID(digits)
}

// compareIDs orders ids as the requests were made: those of an older covey, which
// are ULIDs, come first.
func compareIDs(a, b string) int {
	n, _ := numberOf(a)
	m, _ := numberOf(b)
	return cmp.Or(cmp.Compare(n, m), cmp.Compare(a, b))
}

// next is a number that no request has. Two callers at once get two; one that
// nobody uses is left out.
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

// Skip keeps the number of a request that an event tells of from being given
// out again.
func Skip(t *kv.Tx, event json.RawMessage) {
	var r Request
	if json.Unmarshal(event, &r) == nil {
		n, _ := numberOf(r.ID)
		t.Raise(kv.RequestCounter, n)
	}
}

// Find gives the one request that a person means by text: its id, in whatever
// case, or the beginning or the end of the long id of an older covey, if one open request
// has it. It fails with ErrNotFound for none, and with ErrInvalid for several.
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
	const enough = 4 // of a ULID
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
