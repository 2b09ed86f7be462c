package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/teammate/agent"
)

// AfterTurn is what a callback behind a turn (hooks.Registry.AfterTurn) left for
// people.
type AfterTurn struct {
	Callback string         `json:"callback"`
	Message  string         `json:"message,omitempty"`
	Data     map[string]any `json:"data,omitempty"`
}

// EventType is the journal's name for it.
func (AfterTurn) EventType() string { return "after_turn" }

// afterTurns is a sink before next that calls the program's callbacks behind
// each turn that came to its end. They run in the member's goroutine, so that
// its next turn waits for them, and before it counts as idle.
func (h hiring) afterTurns(ctx context.Context, s *crew.Seat, next agent.Sink) agent.Sink {
	// Only the member's goroutine tells of the end of turns, so this needs no lock.
	atMax := false // the last one had all its passes
	return func(e agent.Event) {
		switch data := e.Data.(type) {
		case agent.TurnEnded:
			atMax = data.Reason == agent.EndMaxTurns
		case agent.Idle:
			switch data.Reason {
			case agent.IdleAvailable, agent.IdleStopped, agent.IdleLimited:
				h.callAfterTurn(ctx, s, atMax, func(told agent.EventData) {
					next(agent.Event{Member: e.Member, Turn: e.Turn, Data: told})
				})
			}
		}
		next(e)
	}
}

// callAfterTurn calls them for one turn, and tells what they left.
func (h hiring) callAfterTurn(ctx context.Context, s *crew.Seat, reachedMax bool, tell func(agent.EventData)) {
	h.o.opts.Hooks.TurnEnded(ctx, h.o.place.Transcript(s.Member.Name, s.Member.Session.Session), reachedMax,
		func(name string, note hooks.Note, err error) {
			switch {
			case name == "":
				tell(agent.Warning{Text: "callbacks behind the turn were not called: " + err.Error()})
			case err != nil:
				tell(agent.Warning{Text: "after the turn, callback " + name + ": " + err.Error()})
			case note.Message != "" || len(note.Data) > 0:
				tell(AfterTurn{Callback: name, Message: note.Message, Data: note.Data})
			}
		})
}
