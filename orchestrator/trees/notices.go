package trees

import (
	"fmt"
	"sync"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/teammate/agent"
)

// notices are what the journal is told of working copies. It is kept until the journal
// runs.
type notices struct {
	journal *journal.Journal

	mu    sync.Mutex
	early []agent.Event
	heard bool // the journal runs, so nothing is put into early any more
}

// tell puts something into the journal, or keeps it until the journal runs.
func (n *notices) tell(member string, data agent.EventData) {
	e := agent.Event{Member: member, Data: data}
	n.mu.Lock()
	waits := !n.heard
	if waits {
		n.early = append(n.early, e)
	}
	n.mu.Unlock()
	if !waits {
		n.journal.Append(e)
	}
}

// warn tells people of something.
func (n *notices) warn(format string, args ...any) {
	n.tell("", agent.Warning{Text: fmt.Sprintf(format, args...)})
}

// begin puts into the journal what had to wait for it.
func (n *notices) begin() {
	n.mu.Lock()
	waiting := n.early
	n.early, n.heard = nil, true
	n.mu.Unlock()
	for _, e := range waiting {
		n.journal.Append(e)
	}
}
