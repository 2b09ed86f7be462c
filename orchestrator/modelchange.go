package orchestrator

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// keyModel is the store's key for the name of the model that a member of the builtin agent has.
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
func (h hiring) switchModel(ctx context.Context, s *crew.Seat, past transcript.History) (configs.Model, error) {
	now := s.Member.CurrentAgent()
	// An agent program has its own models. A fallback takes the agent's place only for a
	// while, so it is no change of the spec.
	if now.Kind != configs.Builtin || s.Member.FallbackAgent() != "" {
		return now.Model, nil
	}
	var before string
	if err := tasks.ReadValue(ctx, h.r.store, keyModel(s.Member.Name), &before); err != nil {
		return now.Model, fmt.Errorf("read which model it had: %w", err)
	}
	next := now.Model.FullName()
	if before == next {
		return now.Model, nil
	}
	// A member without a turn has no conversation that the hooks could protect, and one
	// whose model was never stored has nothing to be compared with. Tokens is an estimate:
	// four bytes for each.
	if before != "" && past.Turns > 0 {
		change := agent.ModelSwitched{
			From: before, To: next, Why: "the spec has changed", BySpec: true,
			Tokens: (agent.Request{Messages: past.Messages}.Size() + 3) / 4,
		}
		if refusal := s.Teammate().SwitchModel(ctx, change); refusal != "" {
			return h.keepModel(s, change, refusal)
		}
	}
	if err := h.r.store.Put(ctx, keyModel(s.Member.Name), notation.Encode(next)); err != nil {
		return now.Model, fmt.Errorf("store which model it has: %w", err)
	}
	return now.Model, nil
}

// keepModel lets a member go on with the model that it had.
//
// The stored name stays that of the old model, so the hooks are asked again when the next
// agent is made, and a changed hook can agree then.
func (h hiring) keepModel(s *crew.Seat, change agent.ModelSwitched, refusal string) (configs.Model, error) {
	own, known := modelNamed(h.o.team(), change.From)
	if !known {
		return own, fmt.Errorf("%s, and the spec has the model %s no more; "+
			"put it back under models, or change the hook", refusal, change.From)
	}
	h.r.journal.Append(agent.Event{Member: s.Member.Name, Turn: s.Turn(), Data: agent.Warning{
		Text: fmt.Sprintf("the model stays %s, although the spec says %s: %s",
			change.From, change.To, refusal),
	}})
	kept := s.Member.Agent
	kept.Model = own
	h.r.accounts.ledger.SetAgent(s.Member.Name, kept) // for its prices
	return own, nil
}

// modelNamed finds a model of a spec by its full name.
//
// The section models is searched first, and then the agents, whose models may be written in
// place. Two models of a spec may have one full name, such as one model at two hosts; which
// of them is found is not defined.
func modelNamed(team *configs.Team, name string) (configs.Model, bool) {
	for _, m := range team.Models {
		if m.FullName() == name {
			return m, true
		}
	}
	list := launch.AgentsInUse(team)
	i := slices.IndexFunc(list, func(a configs.Agent) bool {
		return a.Kind == configs.Builtin && a.Model.FullName() == name
	})
	if i < 0 {
		return configs.Model{}, false
	}
	return list[i].Model, true
}
