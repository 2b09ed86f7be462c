package teammate

import (
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/transcript"
)

// hookContext identifies what hooks, events and transcript lines belong to: one turn of a
// member, or an event outside of its turns.
type hookContext struct {
	t        *Teammate
	no       int // of the turn
	promptID string
	outside  bool                // the event is outside of the member's loop
	summary  *events.HookSummary // of the last Stop hooks

	halted      string // why a hook stopped the turn; empty if none did
	stopped     string // likewise with the hook, for Idle.Stopped
	interrupted bool   // halted comes from the interrupt of a PermissionRequest hook
}

// hookContext returns the context of a turn.
func (t *Teammate) hookContext(no int, promptID string) *hookContext {
	return &hookContext{t: t, no: no, promptID: promptID}
}

// outside returns the scope of an event outside of the member's loop. It has the number
// of the turn that is running, if any.
func (t *Teammate) outside() *hookContext {
	at := &hookContext{t: t, outside: true}
	if running := t.current.Load(); running != nil {
		at.no, at.promptID = running.at.no, running.at.promptID
	}
	return at
}

func (s *hookContext) emit(d events.Data) {
	s.t.opts.Sink(events.Event{Member: s.t.opts.Name, Turn: s.no, Data: d})
}

func (s *hookContext) warn(format string, args ...any) {
	s.emit(events.Warning{Text: fmt.Sprintf(format, args...)})
}

// line returns a system line of this turn.
func (s *hookContext) line(subtype string) transcript.Line {
	ln := transcript.Line{Type: transcript.SystemLine, Subtype: subtype}
	s.sign(&ln)
	return ln
}

// sign sets the session, the directory, the turn and the helper of a line.
func (s *hookContext) sign(ln *transcript.Line) {
	ln.SessionID, ln.Cwd, ln.Turn = s.t.opts.SessionID, s.t.opts.Workdir.Dir(), s.no
	if e := s.t.helper; e != nil {
		ln.AgentID, ln.Sidechain = e.id, true
	}
}
