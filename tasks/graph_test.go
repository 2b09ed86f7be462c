package tasks

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parseGraph reads "a>b b>c": a blocks b, b blocks c.
func parseGraph(s string) (next func(string) []string) {
	edges := map[string][]string{}
	for _, e := range strings.Fields(s) {
		from, to, _ := strings.Cut(e, ">")
		edges[from] = append(edges[from], to)
	}
	return func(id string) []string { return edges[id] }
}

func TestCycles(t *testing.T) {
	for _, tt := range []struct {
		graph, start string
		from         string // the cycle that is found from start
	}{
		{"a>b b>c", "a", ""},
		{"a>a", "a", "a a"},
		{"a>b b>a", "a", "a b a"},
		{"a>b b>a", "b", "b a b"},
		{"a>b b>c c>a", "c", "c a b c"},
		{"a>b b>c c>b", "a", "b c b"},
		{"a>b b>b", "c", ""},
		{"a>b a>c b>d c>d d>e", "a", ""},
		{"a>b a>c c>d d>a", "a", "a c d a"},
	} {
		if have := strings.Join(findCycle([]string{tt.start}, parseGraph(tt.graph)), " "); have != tt.from {
			t.Errorf("%s from %s: %q, want %q", tt.graph, tt.start, have, tt.from)
		}
	}
}

// TestCyclesAreReal checks random graphs: what is found is a cycle, and when
// nothing is found the nodes can be put in order.
func TestCyclesAreReal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		edges := map[string][]string{}
		order := make([]string, n)
		for i := range order {
			order[i] = strconv.Itoa(i)
			for j := range n {
				if rapid.IntRange(0, 4).Draw(t, "edge") == 0 {
					edges[order[i]] = append(edges[order[i]], strconv.Itoa(j))
				}
			}
		}
		next := func(id string) []string { return edges[id] }
		cycle := findCycle(order, next)
		checkCycle(t, cycle, next)
		if found := cycle != nil; found == sortable(order, edges) {
			t.Fatalf("cycle %q, though the tasks can be put in order: %v", cycle, found)
		}
	})
}

func checkCycle(t *rapid.T, cycle []string, next func(string) []string) {
	if cycle == nil {
		return
	}
	if len(cycle) < 2 || cycle[0] != cycle[len(cycle)-1] {
		t.Fatalf("%q is no cycle", cycle)
	}
	for i := range cycle[1:] {
		if !slices.Contains(next(cycle[i]), cycle[i+1]) {
			t.Fatalf("%q: %s does not lead to %s", cycle, cycle[i], cycle[i+1])
		}
	}
}

// sortable takes away nodes without edges until none is left.
func sortable(order []string, edges map[string][]string) bool {
	left := slices.Clone(order)
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(id string) bool {
			return !slices.ContainsFunc(edges[id], func(to string) bool { return slices.Contains(left, to) })
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

func TestLongChain(t *testing.T) {
	const n = 100_000
	order := make([]string, n)
	next := map[string][]string{}
	for i := range order {
		order[i] = strconv.Itoa(i)
		next[order[i]] = []string{strconv.Itoa((i + 1) % n)}
	}
	cycle := findCycle([]string{"0"}, func(id string) []string { return next[id] })
	if len(cycle) != n+1 {
		t.Fatalf("cycle of %d nodes, want %d", len(cycle), n+1)
	}
	if text := cycleError(cycle).Error(); len(text) > 300 || !strings.Contains(text, "task 0 blocks 1 blocks 2") {
		t.Errorf("error %q", text)
	}
	next[strconv.Itoa(n-1)] = nil
	if cycle := findCycle(order, func(id string) []string { return next[id] }); cycle != nil {
		t.Errorf("a chain is a cycle: %d nodes", len(cycle))
	}
}
