package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// keyReminded is the store's key for the counts of reminders. The counts are
// stored because otherwise each restart would reset them, and a request that is
// never answered would cost turns for ever.
const keyReminded = "reminded"

// reminders counts the reminders of each request that a member has to answer.
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
		return fmt.Errorf("read the counts of reminders: %w", err)
	}
	return nil
}

// due returns the requests of which a member may still be reminded.
func (r *reminders) due(list []requests.Request) []requests.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(list), func(q requests.Request) bool { return r.times[q.ID] >= plan.MaxNudges })
}

// mark joins the ids of the requests of which a member may still be reminded.
// r.mu must be held.
func (r *reminders) mark(ids []string) (mark string) {
	for _, id := range ids {
		if r.times[id] < plan.MaxNudges {
			mark += id + " "
		}
	}
	return mark
}

// unanswered lists the ids of the requests of which a member was reminded in vain.
// r.mu must be held.
func (r *reminders) unanswered(ids []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return r.times[id] < plan.MaxNudges
	}), ", ")
}

// count adds one reminder to each request in of, and drops the counts of requests
// that are not in open.
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
	if err := r.store.Put(ctx, keyReminded, texts.Encode(next)); err != nil {
		return fmt.Errorf("store the counts of reminders: %w", err)
	}
	r.times = next
	return nil
}
