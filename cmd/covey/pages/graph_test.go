package pages

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// waiting returns a team whose tasks wait for others: task i+1 for those in blockers[i].
func waiting(blockers ...[]int) *view.State {
	s := &view.State{}
	for i, list := range blockers {
		one := &view.Task{Task: tasks.Task{ID: strconv.Itoa(i + 1), Subject: "s", Status: tasks.Pending}}
		for _, n := range list {
			one.BlockedBy = append(one.BlockedBy, strconv.Itoa(n))
		}
		s.Tasks = append(s.Tasks, one)
	}
	return s
}

// checkDrawing fails a test if nodes lie on each other or outside of the drawing.
func checkDrawing(t interface {
	Fatalf(format string, args ...any)
}, g graph) {
	for i, a := range g.Nodes {
		if a.X < 0 || a.Y < 0 || a.X+nodeWidth+2*margin > g.Width || a.Y+nodeHeight+2*margin > g.Height {
			t.Fatalf("task %s at %d,%d is outside of %dx%d", a.ID, a.X, a.Y, g.Width, g.Height)
		}
		for _, b := range g.Nodes[:i] {
			if max(a.X-b.X, b.X-a.X) < nodeWidth && max(a.Y-b.Y, b.Y-a.Y) < nodeHeight {
				t.Fatalf("tasks %s and %s lie on each other", a.ID, b.ID)
			}
		}
	}
}

// In each graph without a cycle a task stands right of all that it waits for; each node has an
// edge; and whatever the journal says, nothing lies on anything.
func TestGraphProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, cyclic := rapid.IntRange(0, 14).Draw(t, "tasks"), rapid.Bool().Draw(t, "cyclic")
		places := rapid.Permutation(sequence(n)).Draw(t, "order") // the order of tasks tells nothing
		blockers := make([][]int, n)
		for range rapid.IntRange(0, 2*n).Draw(t, "edges") {
			from, to := rapid.IntRange(0, n).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
			if from < to || cyclic { // task n+1 is not there
				id := n + 1
				if from < n {
					id = places[from]
				}
				blockers[places[to]-1] = append(blockers[places[to]-1], id)
			}
		}
		s := waiting(blockers...)
		for _, one := range s.Tasks {
			one.Deleted = rapid.IntRange(0, 5).Draw(t, "deleted") == 0
		}
		g := drawGraph(s)
		checkDrawing(t, g)
		ends := map[[2]int]bool{}
		for _, e := range g.Edges {
			if !cyclic && e.X1+nodeGapX > e.X2 {
				t.Fatalf("an edge from %d to %d", e.X1, e.X2)
			}
			ends[[2]int{e.X1 - nodeWidth, e.Y1 - nodeHeight/2}], ends[[2]int{e.X2, e.Y2 - nodeHeight/2}] = true, true
		}
		for _, one := range g.Nodes {
			if one.task.Deleted || !ends[[2]int{one.X, one.Y}] {
				t.Fatalf("task %s stands in the graph, deleted %v, without an edge", one.ID, one.task.Deleted)
			}
		}
	})
}

// sequence returns 1 to n.
func sequence(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

func TestGraphLayers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		blockers [][]int
		want     []int // the layer of each node
	}{
		"nothing waits":     {[][]int{{}, {}}, nil},
		"a chain backwards": {[][]int{{2}, {3}, {}}, []int{2, 1, 0}},
		"the longest path":  {[][]int{{}, {1}, {1, 2}, {1, 3}}, []int{0, 1, 2, 3}},
		"twice the same":    {[][]int{{}, {1, 1}}, []int{0, 1}},
	} {
		var got []int
		for _, n := range drawGraph(waiting(tc.blockers...)).Nodes {
			got = append(got, n.X/(nodeWidth+nodeGapX))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: layers %v, want %v", name, got, tc.want)
		}
	}
}

// A cycle, which only a damaged journal has, and more tasks than a person can look at end.
func TestGraphOfDamage(t *testing.T) {
	t.Parallel()
	ring := make([][]int, maxNodes+20)
	for i := range ring {
		ring[i] = []int{(i+1)%len(ring) + 1, i + 1}
	}
	for _, blockers := range [][][]int{{{1}}, {{2}, {1}}, {{3}, {1}, {2}, {3}}, ring} {
		g := drawGraph(waiting(blockers...))
		checkDrawing(t, g)
		if len(g.Nodes) != min(len(blockers), maxNodes) || len(g.Nodes)+g.Omitted != len(blockers) {
			t.Errorf("%d nodes of %d, %d omitted", len(g.Nodes), len(blockers), g.Omitted)
		}
	}
}

// An edge is open until the task that is waited for is done.
func TestGraphEdges(t *testing.T) {
	t.Parallel()
	s := waiting([]int{}, []int{}, []int{1, 2})
	s.Tasks[0].Status = tasks.Completed
	if g := drawGraph(s); len(g.Edges) != 2 || g.Edges[0].Open || !g.Edges[1].Open {
		t.Errorf("%+v", g.Edges)
	}
}

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	thousands := functions("")["thousands"].(func(int64) string)
	for n, want := range map[int64]string{0: "0", 9_999: "9999", 10_000: "10 k", 9_999_999: "9999 k", 10_000_000: "10 M"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	took := functions("")["took"].(func(time.Duration) string)
	for d, want := range map[time.Duration]string{0: "0 ms", 999 * time.Millisecond: "999 ms", time.Second: "1.0 s", 90 * time.Second: "90.0 s"} {
		if got := took(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// The drawing and the list of tasks agree about what a task does.
func TestGraphSaysWhatWaits(t *testing.T) {
	t.Parallel()
	s := waiting(nil, []int{1})
	g := drawGraph(s)
	if g.Nodes[0].Word != "ready" || g.Nodes[1].Word != "waits" {
		t.Errorf("the drawing says %q and %q", g.Nodes[0].Word, g.Nodes[1].Word)
	}
	if row := rowOf(s, s.Works(), s.Tasks[1]); row.Word != "waits for 1" {
		t.Errorf("the list says %q", row.Word)
	}
}
