package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/teammate/agent"
)

// AfterTurn is what a callback after a turn (hooks.Registry.AfterTurn) returned for
// people.
type AfterTurn struct {
	Callback string         `json:"callback"`
	Message  string         `json:"message,omitempty"`
	Data     map[string]any `json:"data,omitempty"`
}

// EventType implements agent.EventData.
func (AfterTurn) EventType() string { return "after_turn" }

// afterTurns returns a sink before next that calls the program's callbacks after each
// completed turn. They run in the member's goroutine, before the member counts as idle,
// so its next turn waits for them.
func (h hiring) afterTurns(ctx context.Context, s *crew.Seat, next agent.Sink) agent.Sink {
	// Only the member's goroutine reports the end of turns, so no lock is needed.
	atMax := false // the last turn used all its passes
	return func(e agent.Event) {
		switch data := e.Data.(type) {
		case agent.TurnEnded:
			atMax = data.Reason == agent.EndMaxTurns
		case agent.Idle:
			// Other reasons mean that the turn has not completed, for example because it is
			// tried again.
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

// callAfterTurn calls the callbacks for one turn, and reports their results.
func (h hiring) callAfterTurn(ctx context.Context, s *crew.Seat, reachedMax bool, tell func(agent.EventData)) {
	h.o.opts.Hooks.TurnEnded(ctx, h.o.place.Transcript(s.Member.Name, s.Member.Session.Session), reachedMax,
		func(name string, note hooks.Note, err error) {
			switch {
			case name == "":
				tell(agent.Warning{Text: "callbacks after the turn were not called: " + err.Error()})
			case err != nil:
				tell(agent.Warning{Text: "after the turn, callback " + name + ": " + err.Error()})
			case note.Message != "" || len(note.Data) > 0:
				tell(AfterTurn{Callback: name, Message: note.Message, Data: note.Data})
			}
		})
}
