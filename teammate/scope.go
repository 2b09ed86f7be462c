package teammate

import (
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
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

// line returns a system line of this turn.
func (at *scope) line(subtype string) transcript.Line {
	ln := transcript.Line{Type: transcript.SystemLine, Subtype: subtype}
	at.sign(&ln)
	return ln
}

// sign writes the session, the directory, the turn and the helper on a line.
func (at *scope) sign(ln *transcript.Line) {
	ln.SessionID, ln.Cwd, ln.Turn = at.t.opts.SessionID, at.t.opts.Workdir.Dir(), at.no
	if e := at.t.helper; e != nil {
		ln.AgentID, ln.Sidechain = e.id, true
	}
}
