package orchestrator

import (
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/nodes"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestNodeIsBack: when a node is back that was lost, the operator's inbox names each member that sat there and where
// its work is, once for each time.
func TestNodeIsBack(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	n := &teamNodes{o: r.team.o, journal: r.team.Journal, inbox: r.team.Asks}
	back := nodes.Node{Profile: nodes.Profile{Name: "big"}, State: nodes.Here, Since: time.Now(), Was: []string{"dev", "ops"}}
	n.tell(back)
	n.tell(back) // by a coordinator that has not known of it
	var about []string
	for _, q := range r.team.Asks.Open() {
		if q.To != actors.Operator || !strings.Contains(q.Text, "node big is back; what "+q.Member+" did there after its last push is in its working copy on big") {
			t.Errorf("the inbox has %+v", q)
		}
		about = append(about, q.Member)
	}
	if strings.Join(about, " ") != "dev ops" {
		t.Errorf("the inbox names %v", about)
	}
	back.Since = back.Since.Add(time.Hour)
	n.tell(back)
	if got := len(r.team.Asks.Open()); got != 4 {
		t.Errorf("after the second time, the inbox has %d lines", got)
	}
}
