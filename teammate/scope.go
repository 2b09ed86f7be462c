package teammate

import (
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
)

// scope is what hooks, events and transcript lines are about: one turn of a
// member, or what happens to the member outside of its turns.
type scope struct {
	t        *Teammate
	no       int // of the turn
	promptID string
	outside  bool               // it happens outside of the member's loop
	summary  *agent.HookSummary // of the last Stop run

	halted      string // why a hook stopped the turn; empty: none did
	interrupted bool   // halted is the interrupt of a PermissionRequest hook
}

// scope returns that of a turn.
func (t *Teammate) scope(no int, promptID string) *scope {
	return &scope{t: t, no: no, promptID: promptID}
}

// outside returns the scope of what happens to a member outside of its loop. It
// knows the turn that runs meanwhile, if one does.
func (t *Teammate) outside() *scope {
	at := &scope{t: t, outside: true}
	if running := t.current.Load(); running != nil {
		at.no, at.promptID = running.at.no, running.at.promptID
	}
	return at
}

func (at *scope) emit(d agent.EventData) {
	at.t.opts.Sink(agent.Event{Member: at.t.opts.Name, Turn: at.no, Data: d})
}

func (at *scope) warn(format string, args ...any) {
	at.emit(agent.Warning{Text: fmt.Sprintf(format, args...)})
}

// line is a transcript line of this turn.
func (at *scope) line(typ lineType) line {
	ln := line{Type: typ}
	at.sign(&ln)
	return ln
}

// sign writes on a line whose it is.
func (at *scope) sign(ln *line) {
	ln.SessionID, ln.Cwd, ln.Turn = at.t.opts.SessionID, at.t.opts.Workdir.Dir(), at.no
	if e := at.t.helper; e != nil {
		ln.AgentID, ln.Sidechain = e.id, true
	}
}
