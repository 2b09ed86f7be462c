package inbox

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// keyReminded is where the store has how often members were reminded of questions. In
// memory alone, each restart and each message would begin the count anew, and a question
// that nobody answers would cost a turn for ever.
const keyReminded = "reminded"

// reminders counts the reminders of each question that a member is to answer.
type reminders struct {
	store *tasks.Store

	mu    sync.Mutex
	times map[string]int // by the request's id
}

// recall reads the counts from the store.
func (r *reminders) recall(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := tasks.ReadValue(ctx, r.store, keyReminded, &r.times); err != nil {
		return fmt.Errorf("who was reminded: %w", err)
	}
	return nil
}

// due are those of some questions of which their member is still to be reminded.
func (r *reminders) due(list []requests.Request) []requests.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(list), func(q requests.Request) bool { return r.times[q.ID] >= plan.MaxNudges })
}

// mark names those of some questions of which their member is still to be reminded; r.mu is
// held.
func (r *reminders) mark(ids []string) (mark string) {
	for _, id := range ids {
		if r.times[id] < plan.MaxNudges {
			mark += id + " "
		}
	}
	return mark
}

// count counts one more reminder of some questions, and forgets those that are not open
// any more.
func (r *reminders) count(ctx context.Context, of, open []requests.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := map[string]int{}
	for _, q := range open {
		if n := r.times[q.ID]; n > 0 {
			next[q.ID] = n
		}
	}
	for _, q := range of {
		next[q.ID]++
	}
	if err := r.store.Put(ctx, keyReminded, notation.Encode(next)); err != nil {
		return fmt.Errorf("keep who was reminded: %w", err)
	}
	r.times = next
	return nil
}
