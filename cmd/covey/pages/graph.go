package pages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// Measures of the graph, in pixels.
const (
	nodeWidth   = 168
	nodeHeight  = 44
	nodeGapX    = 48
	nodeGapY    = 14
	nodeLetters = 22
	nodeGates   = 3   // the last ones
	margin      = 4   // for the lines of nodes at the edge
	maxNodes    = 300 // more are a list only
)

// graph is the tasks and what they wait for, laid out in layers from left to right: a task
// stands right of all that it waits for.
type graph struct {
	Width, Height int
	Nodes         []*node
	Edges         []edge
	Omitted       int // tasks without a node
}

// node is one task.
type node struct {
	ID, Owner   string
	Word, Class string
	X, Y        int
	Label       string // id and subject, as far as they fit
	Gates       []gateSign

	task   *view.Task
	layer  int
	weight float64 // where its neighbours stand
}

// edge leads from a task to one that waits for it.
type edge struct {
	X1, Y1, X2, Y2, Bend int
	Open                 bool // the first task is not done
}

// drawGraph lays out the tasks of a team: layers by the longest path, the order in each by the
// mean place of a task's neighbours. Tasks without edges are left to the list.
func drawGraph(s *view.State) graph {
	var g graph
	byID := map[string]*node{}
	linked, works := map[string]bool{}, s.Works()
	for _, t := range s.Tasks {
		for _, id := range t.BlockedBy {
			if other := s.Task(id); !t.Deleted && other != nil && !other.Deleted {
				linked[t.ID], linked[id] = true, true
			}
		}
	}
	for _, t := range s.Tasks {
		switch {
		case !linked[t.ID]:
		case len(g.Nodes) == maxNodes:
			g.Omitted++
		default:
			row := rowOf(s, view.Works{}, t) // a merge is no matter of the graph
			n := &node{
				ID: t.ID, Owner: t.Owner, Word: row.Word, Class: row.Class,
				Label: term.Fit(term.PlainLine(t.ID+" "+t.Subject), nodeLetters), task: t,
			}
			if strings.HasPrefix(n.Word, "waits for ") {
				n.Word = "waits" // the lines that lead to it say for what
			}
			n.Gates = signs(works.Gates[t.ID], nodeGates)
			byID[t.ID] = n
			g.Nodes = append(g.Nodes, n)
		}
	}
	layers := layersOf(g.Nodes, byID)
	order(layers, byID)
	for x, layer := range layers {
		for y, n := range layer {
			n.X, n.Y = x*(nodeWidth+nodeGapX), y*(nodeHeight+nodeGapY)
			g.Width, g.Height = max(g.Width, n.X+nodeWidth), max(g.Height, n.Y+nodeHeight)
		}
	}
	for _, n := range g.Nodes {
		for _, id := range n.task.BlockedBy {
			if from := byID[id]; from != nil {
				e := edge{
					X1: from.X + nodeWidth, Y1: from.Y + nodeHeight/2, X2: n.X, Y2: n.Y + nodeHeight/2,
					Open: from.task.Status != tasks.Completed,
				}
				e.Bend = (e.X1 + e.X2) / 2
				g.Edges = append(g.Edges, e)
			}
		}
	}
	g.Width, g.Height = g.Width+2*margin, g.Height+2*margin
	return g
}

// layersOf sorts nodes into layers by the longest path that leads to them. The store keeps the
// graph free of cycles; in the journal of a damaged one, the count of rounds is the bound.
func layersOf(nodes []*node, byID map[string]*node) [][]*node {
	for range nodes {
		moved := false
		for _, n := range nodes {
			for _, id := range n.task.BlockedBy {
				if from := byID[id]; from != nil && n.layer <= from.layer && from.layer < len(nodes) {
					n.layer, moved = from.layer+1, true
				}
			}
		}
		if !moved {
			break
		}
	}
	var layers [][]*node
	for _, n := range nodes {
		for len(layers) <= n.layer {
			layers = append(layers, nil)
		}
		layers[n.layer] = append(layers[n.layer], n)
	}
	return layers
}

// order sorts each layer by the mean place of the tasks that its tasks wait for, so that few
// edges cross.
func order(layers [][]*node, byID map[string]*node) {
	place := map[*node]int{}
	for _, layer := range layers {
		for i, n := range layer {
			sum, count := 0, 0
			for _, id := range n.task.BlockedBy {
				if from := byID[id]; from != nil {
					sum, count = sum+place[from], count+1
				}
			}
			n.weight = float64(i)
			if count > 0 {
				n.weight = float64(sum) / float64(count)
			}
		}
		slices.SortStableFunc(layer, func(a, b *node) int { return cmp.Compare(a.weight, b.weight) })
		for i, n := range layer {
			place[n] = i
		}
	}
}
