package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// requestMark begins the ids of requests (r1, r2, …), so that none looks like a task's.
const requestMark = "r"

// requestID is the id of the n-th request.
func requestID(n uint64) string { return requestMark + formatID(n) }

// requestNumber reads a request's id; false: it is none, or the ULID of an older covey.
func requestNumber(id string) (uint64, bool) {
	digits, ok := strings.CutPrefix(id, requestMark)
	if !ok {
		return 0, false
	}
	return parseID(digits)
}

// compareRequestIDs orders ids as the requests were made: those of an older covey, which
// are ULIDs, come first.
func compareRequestIDs(a, b string) int {
	n, _ := requestNumber(a)
	m, _ := requestNumber(b)
	return cmp.Or(cmp.Compare(n, m), cmp.Compare(a, b))
}

// nextRequest is a number that no request has. Two callers at once get two; one that
// nobody uses is left out.
func (s *Store) nextRequest(ctx context.Context) (uint64, error) {
	var last uint64
	err := s.view(ctx, func(r reader) error {
		last = readCounters(r.bucket(bucketMeta)).asked
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("request id: %w", err)
	}
	s.drafting.Lock()
	defer s.drafting.Unlock()
	s.drafted = max(s.drafted, last) + 1
	return s.drafted, nil
}

// countRequest keeps the number of a request that an event tells of from being given
// out again.
func (t *txn) countRequest(data json.RawMessage) {
	var r Request
	if json.Unmarshal(data, &r) == nil {
		n, _ := requestNumber(r.ID)
		t.counts.asked = max(t.counts.asked, n)
	}
}

// FindRequest gives the one request that a person means by text: its id, in whatever
// case, or the beginning or the end of the long id of an older covey, if one open request
// has it. It fails with ErrNotFound for none, and with ErrInvalid for several.
func (s *Store) FindRequest(ctx context.Context, text string) (Request, error) {
	r, err := s.Request(ctx, text)
	if err == nil {
		return r, nil
	}
	if r, err := s.Request(ctx, strings.ToLower(text)); err == nil {
		return r, nil
	}
	open, openErr := s.OpenRequests(ctx, "")
	if openErr != nil {
		return Request{}, openErr
	}
	const enough = 4 // of a ULID
	part := strings.ToUpper(text)
	open = slices.DeleteFunc(open, func(r Request) bool {
		_, short := requestNumber(r.ID)
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
	return r, fmt.Errorf("%w: %s may mean %d requests: %s", ErrInvalid, clip(text), len(open), strings.Join(ids, ", "))
}
