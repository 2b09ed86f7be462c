package main

import "testing"

// TestIsBelow: a process is below all of its ancestors, and a circle, which no
// kernel has, does not hang.
func TestIsBelow(t *testing.T) {
	parents := map[int]int{10: 1, 20: 10, 30: 20, 40: 1, 50: 51, 51: 50}
	for _, tc := range []struct {
		pid, top int
		want     bool
	}{{30, 10, true}, {20, 10, true}, {10, 10, false}, {40, 10, false}, {99, 10, false}, {50, 10, false}} {
		if got := isBelow(tc.pid, tc.top, parents); got != tc.want {
			t.Errorf("isBelow(%d, %d) = %t", tc.pid, tc.top, got)
		}
	}
}
