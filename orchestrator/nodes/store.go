package nodes

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// TaskStore is a Store in the team's own.
type TaskStore struct{ Tasks *tasks.Store }

// The keys of values in the store.
const (
	keyNodes = "nodes" // the names of all nodes
	keyNode  = "node:"
	keySeat  = "seat:"
)

// Nodes implements Store.
func (s TaskStore) Nodes(ctx context.Context) (map[string]Kept, error) {
	var names []string
	if err := tasks.ReadValue(ctx, s.Tasks, keyNodes, &names); err != nil {
		return nil, err
	}
	all := map[string]Kept{}
	for _, name := range names {
		var k Kept
		if err := tasks.ReadValue(ctx, s.Tasks, keyNode+name, &k); err != nil {
			return nil, err
		}
		all[name] = k
	}
	return all, nil
}

// KeepNode implements Store. One goroutine at a time may call it.
func (s TaskStore) KeepNode(ctx context.Context, node string, k Kept) error {
	if err := s.put(ctx, keyNode+node, k); err != nil {
		return err
	}
	var names []string
	if err := tasks.ReadValue(ctx, s.Tasks, keyNodes, &names); err != nil || slices.Contains(names, node) {
		return err
	}
	return s.put(ctx, keyNodes, append(names, node))
}

// Seat implements Store.
func (s TaskStore) Seat(ctx context.Context, member string) (node string, err error) {
	err = tasks.ReadValue(ctx, s.Tasks, keySeat+member, &node)
	return node, err
}

// KeepSeat implements Store.
func (s TaskStore) KeepSeat(ctx context.Context, member, node string) error {
	return s.put(ctx, keySeat+member, node)
}

func (s TaskStore) put(ctx context.Context, key string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.Tasks.Put(ctx, key, data)
}
