package tasks

import (
	"fmt"
	"slices"
	"strings"
)

// The edges of the graph go from a task to its dependents ("blocks"). A new edge can
// only close a cycle that passes through its own ends, so a change searches from the
// changed task alone; Add and Check search the whole graph.

// findCycle looks for a path from start back to start along next, and returns its
// nodes, with start at both ends, or nil. It visits each node once and keeps its own
// stack, because a chain of tasks may be long.
func findCycle(start string, next func(string) []string) []string {
	type visit struct {
		id   string
		todo []string
	}
	seen := map[string]bool{start: true}
	path := []visit{{start, next(start)}}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if len(top.todo) == 0 {
			path = path[:len(path)-1]
			continue
		}
		id := top.todo[0]
		top.todo = top.todo[1:]
		if id == start {
			cycle := make([]string, 0, len(path)+1)
			for _, v := range path {
				cycle = append(cycle, v.id)
			}
			return append(cycle, start)
		}
		if !seen[id] {
			seen[id] = true
			path = append(path, visit{id, next(id)})
		}
	}
	return nil
}

// acyclic checks a whole graph: order holds its nodes, next returns the edges of a
// node. It returns a cycle as findCycle does.
//
// It takes away nodes into which no edge goes any more; those that remain are on a cycle or
// behind one. Its time is linear in the edges, while findCycle from every node would be
// quadratic.
func acyclic(order []string, next func(string) []string) []string {
	waits := make(map[string]int, len(order)) // number of edges into a node from nodes not removed yet
	for _, id := range order {
		for _, to := range next(id) {
			waits[to]++
		}
	}
	var free []string
	for _, id := range order {
		if waits[id] == 0 {
			free = append(free, id)
		}
	}
	for len(free) > 0 {
		id := free[len(free)-1]
		free = free[:len(free)-1]
		for _, to := range next(id) {
			if waits[to]--; waits[to] == 0 {
				free = append(free, to)
			}
		}
	}
	// A node that still waits is on a cycle or depends on one.
	for _, id := range order {
		if waits[id] == 0 {
			continue
		}
		if cycle := findCycle(id, next); cycle != nil {
			return cycle
		}
	}
	return nil
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
