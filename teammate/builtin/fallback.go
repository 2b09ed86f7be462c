package builtin

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// switcher is a Host that decides whether another model may answer in place of one that cannot.
type switcher interface {
	// MaySwitch runs the PreModelSwitch hooks. A refusal says why the turn must fail instead;
	// an empty one allows the switch.
	MaySwitch(ctx context.Context, s events.ModelSwitched) (refusal string)
	// Switched reports a switch, runs the PostModelSwitch hooks, and returns what they add
	// for the new model.
	Switched(ctx context.Context, s events.ModelSwitched) []agent.Input
}

// use makes a model answer from now on.
func (t *turn) use(model int) {
	if t.model != model {
		t.room.cached = 0
	}
	t.model = model
	_, t.room.limit = agent.Describe(t.models[model])
}

// other returns the name of the model that answers; empty if it is the agent's own.
func (t *turn) other() string {
	if t.model == 0 {
		return ""
	}
	name, _ := agent.Describe(t.models[t.model])
	return name
}

// fallBack lets the next model answer the rest of the turn, if one failed that cannot answer.
// The next turn begins with the agent's own model again, because most failures pass. It reports
// whether there is another model, and hooks allow the switch; it fails when the conversation
// cannot be recorded.
func (t *turn) fallBack(ctx context.Context, failed agent.Response, err error) (bool, error) {
	host, ok := t.host.(switcher)
	if !ok || !cannotAnswer(err) || ctx.Err() != nil || t.model+1 == len(t.models) {
		return false, nil
	}
	s := events.ModelSwitched{Why: err.Error(), Tokens: t.tokens()}
	s.From, _ = agent.Describe(t.models[t.model])
	s.To, _ = agent.Describe(t.models[t.model+1])
	if refusal := host.MaySwitch(ctx, s); refusal != "" {
		t.observe(events.Warning{Text: "the model stays " + s.From + ": " + refusal})
		return false, nil
	}
	if err := t.spend(failed); err != nil {
		return false, err
	}
	t.use(t.model + 1)
	return true, t.addInputs(host.Switched(ctx, s))
}

// cannotAnswer reports whether another model may answer where one failed. A conversation that is
// too long is not among these failures: it is compacted.
func cannotAnswer(err error) bool {
	var api *agent.APIError
	var limit *agent.LimitError
	return errors.As(err, &limit) || errors.As(err, &api) && !api.Overflow
}
