package tasks

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/tasks/store"
)

// Cost is what the work on a task has used of models.
type Cost struct {
	Tokens       int64   `json:"tokens"`
	FailedTokens int64   `json:"failed_tokens,omitempty"` // part of Tokens: of requests that failed
	USD          float64 `json:"usd,omitempty"`           // as far as prices were known
}

// Plus returns the sum of two costs.
func (c Cost) Plus(d Cost) Cost {
	return Cost{Tokens: c.Tokens + d.Tokens, FailedTokens: c.FailedTokens + d.FailedTokens, USD: c.USD + d.USD}
}

// share returns the part of the ith of n tasks, so that all parts together are c.
func (c Cost) share(i, n int) Cost {
	part := func(all int64) int64 { return all*int64(i+1)/int64(n) - all*int64(i)/int64(n) }
	return Cost{Tokens: part(c.Tokens), FailedTokens: part(c.FailedTokens), USD: c.USD / float64(n)}
}

// Charge adds a cost to tasks, to each an equal part. Tasks that are gone get none. It makes
// no version and no event: what a task costs is no change of it, which members would have to
// read.
func Charge(ctx context.Context, s *Store, ids []string, c Cost) error {
	return s.db.Job("charge").Submit(ctx, func(tx *store.Tx) error {
		t := changing(tx)
		var list []*taskRecord
		for _, id := range store.Unique(ids) {
			rec, err := t.load(id)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			list = append(list, rec)
		}
		for i, was := range list {
			rec := was.clone()
			rec.Cost = rec.Cost.Plus(c.share(i, len(list)))
			t.save(was, rec)
		}
		return nil
	})
}

// MarkUnchanged records that a completed task changed no file, until it is opened again, and reports
// whether that is new. A task that was changed since the given version is left alone. Like a cost it
// makes no version and no event.
func MarkUnchanged(ctx context.Context, s *Store, id string, version uint64) (marked bool, err error) {
	err = s.db.Job("mark unchanged").Submit(ctx, func(tx *store.Tx) error {
		t := changing(tx)
		was, err := t.load(id)
		marked = err == nil && was.Version == version && was.Status == Completed && !was.Unchanged
		if !marked {
			return err
		}
		rec := was.clone()
		rec.Unchanged = true
		t.save(was, rec)
		return nil
	})
	return marked, err
}
