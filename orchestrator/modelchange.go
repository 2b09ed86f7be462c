package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// keyModel is the store's key for the model that a member of the builtin agent has, as
// launch.ModelAtHost returns it.
func keyModel(member string) string { return "model/" + member }

// switchModel runs the model switch hooks for a member that the spec gives another model than it
// had in its last turn. It is called before the first turn with the new model, whether covey up
// changed a running team or started one.
//
// A refusal leaves the member its old model, if the spec still has it. Otherwise the member cannot
// go on: a model that the spec no longer names must not get the conversation, and the hooks do not
// let the new one have it.
//
// It returns the model that the member goes on with.
func (h *seatBuilder) switchModel(ctx context.Context, s *crew.Seat, past transcript.History) (configs.Model, error) {
	now := s.Member.CurrentAgent()
	// An agent program has its own models. A fallback takes the agent's place only for a
	// while, so it is no change of the spec.
	if now.Kind != configs.Builtin || s.Member.FallbackAgent() != "" {
		return now.Model, nil
	}
	var before string
	if err := tasks.ReadValue(ctx, h.Store, keyModel(s.Member.Name), &before); err != nil {
		return now.Model, fmt.Errorf("read which model it had: %w", err)
	}
	next := launch.ModelAtHost(now.Model)
	if before == next {
		return now.Model, nil
	}
	from, host := launch.WithoutHost(before)
	why := "the spec has changed"
	if from == now.Model.FullName() {
		why += ": its host is " + now.Model.BaseURL + ", and was " + host
	}
	// A member without a turn has no conversation that the hooks could protect, and one
	// whose model was never stored has nothing to be compared with. Tokens is an estimate:
	// four bytes for each.
	if before != "" && past.Turns > 0 {
		change := events.ModelSwitched{
			From: from, To: now.Model.FullName(), Why: why, BySpec: true,
			Tokens: (agent.Request{Messages: past.Messages}.Size() + 3) / 4,
		}
		if refusal := s.Teammate().SwitchModel(ctx, change); refusal != "" {
			return h.keepModel(s, before, next, refusal)
		}
	}
	if err := h.Store.Put(ctx, keyModel(s.Member.Name), texts.Encode(next)); err != nil {
		return now.Model, fmt.Errorf("store which model it has: %w", err)
	}
	return now.Model, nil
}

// keepModel lets a member go on with the model that it had.
//
// The stored name stays that of the old model, so the hooks are asked again when the next
// agent is made, and a changed hook can agree then.
func (h *seatBuilder) keepModel(s *crew.Seat, before, next, refusal string) (configs.Model, error) {
	own, known := launch.StoredModel(h.o.team(), before)
	if !known {
		return own, fmt.Errorf("%s, and the spec has the model %s no more; "+
			"put it back under models, or change the hook", refusal, before)
	}
	h.Journal.Append(events.Event{Member: s.Member.Name, Turn: s.Turn(), Data: events.Warning{
		Text: fmt.Sprintf("the model stays %s, although the spec says %s: %s", before, next, refusal),
	}})
	kept := s.Member.Agent
	kept.Model = own
	h.Ledger.SetAgent(s.Member.Name, kept) // for its prices
	return own, nil
}
