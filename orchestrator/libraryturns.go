package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/crew"
)

// afterTurns returns a sink before next that calls the program's callbacks after each
// completed turn. They run in the member's goroutine, before the member counts as idle,
// so its next turn waits for them.
func (h *seatBuilder) afterTurns(ctx context.Context, s *crew.Seat, next events.Sink) events.Sink {
	// Only the member's goroutine reports the end of turns, so no lock is needed.
	atMax := false // the last turn used all its passes
	return func(e events.Event) {
		switch data := e.Data.(type) {
		case events.TurnEnded:
			atMax = data.Reason == events.EndMaxTurns
		case events.Idle:
			// Other reasons mean that the turn has not completed, for example because it is
			// tried again.
			switch data.Reason {
			case events.IdleAvailable, events.IdleStopped, events.IdleLimited:
				h.callAfterTurn(ctx, s, atMax, func(told events.Data) {
					next(events.Event{Member: e.Member, Turn: e.Turn, Data: told})
				})
			}
		}
		next(e)
	}
}

// callAfterTurn calls the callbacks for one turn, and reports their results.
func (h *seatBuilder) callAfterTurn(ctx context.Context, s *crew.Seat, reachedMax bool, tell func(events.Data)) {
	h.o.opts.Hooks.TurnEnded(ctx, h.o.place.Transcript(s.Member.Name, s.Member.Session.Session), reachedMax,
		func(name string, note hooks.Note, err error) {
			switch {
			case name == "":
				tell(events.Warning{Text: "callbacks after the turn were not called: " + err.Error()})
			case err != nil:
				tell(events.Warning{Text: "after the turn, callback " + name + ": " + err.Error()})
			case note.Message != "" || len(note.Data) > 0:
				tell(events.AfterTurn{Callback: name, Message: note.Message, Data: note.Data})
			}
		})
}
