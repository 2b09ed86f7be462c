package builtin

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/teammate/agent"
)

// Brief implements agent.Briefer. It is the request for a summary of a compaction, and leaves the
// conversation as it is.
func (a *Agent) Brief(ctx context.Context, h agent.Host) (agent.Brief, error) {
	t := a.turn(h)
	if t.conv.lastAnswer() < 0 {
		return agent.Brief{}, errors.New("the conversation has no answer of the model")
	}
	r, text, err := t.summarize(ctx, agent.BriefRequest)
	if err != nil {
		err = errors.Join(err, t.spend(r))
		return agent.Brief{Usage: t.reply.Usage}, err
	}
	return agent.Brief{Text: text, Step: r.Step, Usage: t.reply.Usage.Plus(r.Usage), Model: t.other()}, nil
}
