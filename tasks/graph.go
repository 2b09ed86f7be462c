package tasks

import (
	"fmt"
	"slices"
	"strings"
)

// The edges of the graph go from a task to its dependents ("blocks"). A new edge can
// only close a cycle that passes through its own ends, so a change searches from the
// changed task alone; Add and Check search the whole graph.

// findCycle looks along next for a cycle that can be reached from one of the starts, and returns its
// nodes, the first at both ends, or nil. It visits each node once.
func findCycle(starts []string, next func(string) []string) (cycle []string) {
	const left = -1
	place := map[string]int{} // position on path, counted from 1; left if it was removed again
	var path []string
	var visit func(id string) bool
	visit = func(id string) bool {
		path = append(path, id)
		place[id] = len(path)
		for _, to := range next(id) {
			switch at := place[to]; {
			case at > 0:
				cycle = append(path[at-1:], to)
				return true
			case at == 0 && visit(to):
				return true
			}
		}
		path = path[:len(path)-1]
		place[id] = left
		return false
	}
	for _, id := range starts {
		if place[id] == 0 && visit(id) {
			break
		}
	}
	return cycle
}

// cycleError names the tasks of a cycle found along "blocks".
func cycleError(cycle []string) error {
	const shown = 12
	names := slices.Clone(cycle)
	if len(names) > shown {
		names = append(append(names[:shown/2:shown/2], "…"), names[len(names)-shown/2:]...)
	}
	return fmt.Errorf("%w: task %s", ErrCycle, strings.Join(names, " blocks "))
}
