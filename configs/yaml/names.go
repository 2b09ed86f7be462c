package yaml

import (
	"fmt"
	"strings"
)

// FindCycles walks from each of names along next and calls found for each edge that closes
// a cycle: the last name of path leads to its first. A name that leads to itself is a cycle
// of one. path is only valid during the call.
//
// Each name is visited once, so the time is linear in names and edges.
func FindCycles(names []string, next func(name string) []string, found func(path []string)) {
	const left = -1
	place := map[string]int{} // position on path, counted from 1; left if it was removed again
	var path []string
	var visit func(name string)
	visit = func(name string) {
		path = append(path, name)
		place[name] = len(path)
		for _, other := range next(name) {
			switch at := place[other]; {
			case at > 0:
				found(path[at-1:])
			case at == 0:
				visit(other)
			}
		}
		path = path[:len(path)-1]
		place[name] = left
	}
	for _, name := range names {
		if place[name] == 0 {
			visit(name)
		}
	}
}

// FreeName returns base, or base with the first number that makes it unique.
func FreeName[T any](base string, taken map[string]T) string {
	if base == "" {
		base = "task"
	}
	id := base
	for n := 2; ; n++ {
		if _, isTaken := taken[id]; !isTaken {
			return id
		}
		suffix := fmt.Sprintf("-%d", n)
		id = strings.TrimRight(base[:min(len(base), 32-len(suffix))], "-") + suffix
	}
}
