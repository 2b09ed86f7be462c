package teammate

import (
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/transcript"
)

// scope identifies what hooks, events and transcript lines belong to: one turn of a
// member, or an event outside of its turns.
type scope struct {
	t        *Teammate
	no       int // of the turn
	promptID string
	outside  bool                // the event is outside of the member's loop
	summary  *events.HookSummary // of the last Stop hooks

	halted      string // why a hook stopped the turn; empty if none did
	stopped     string // likewise with the hook, for Idle.Stopped
	interrupted bool   // halted comes from the interrupt of a PermissionRequest hook
}

// scope returns the scope of a turn.
func (t *Teammate) scope(no int, promptID string) *scope {
	return &scope{t: t, no: no, promptID: promptID}
}

// outside returns the scope of an event outside of the member's loop. It has the number
// of the turn that is running, if any.
func (t *Teammate) outside() *scope {
	at := &scope{t: t, outside: true}
	if running := t.current.Load(); running != nil {
		at.no, at.promptID = running.at.no, running.at.promptID
	}
	return at
}

func (at *scope) emit(d events.Data) {
	at.t.opts.Sink(events.Event{Member: at.t.opts.Name, Turn: at.no, Data: d})
}

func (at *scope) warn(format string, args ...any) {
	at.emit(events.Warning{Text: fmt.Sprintf(format, args...)})
}

// line returns a system line of this turn.
func (at *scope) line(subtype string) transcript.Line {
	ln := transcript.Line{Type: transcript.SystemLine, Subtype: subtype}
	at.sign(&ln)
	return ln
}

// sign sets the session, the directory, the turn and the helper of a line.
func (at *scope) sign(ln *transcript.Line) {
	ln.SessionID, ln.Cwd, ln.Turn = at.t.opts.SessionID, at.t.opts.Workdir.Dir(), at.no
	if e := at.t.helper; e != nil {
		ln.AgentID, ln.Sidechain = e.id, true
	}
}
