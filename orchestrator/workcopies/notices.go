package workcopies

import (
	"fmt"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/state"
)

// notices writes to the journal about working copies. It buffers events until the
// journal runs.
type notices struct {
	journal *state.Journal

	mu    sync.Mutex
	early []events.Event
	heard bool // the journal runs, so early is no longer used
}

// tell writes an event to the journal, or buffers it.
func (n *notices) tell(member string, data events.Data) {
	e := events.Event{Member: member, Data: data}
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

// warn writes a warning for people.
func (n *notices) warn(format string, args ...any) {
	n.tell("", events.Warning{Text: fmt.Sprintf(format, args...)})
}

// begin writes the buffered events to the journal.
func (n *notices) begin() {
	n.mu.Lock()
	waiting := n.early
	n.early, n.heard = nil, true
	n.mu.Unlock()
	for _, e := range waiting {
		n.journal.Append(e)
	}
}
