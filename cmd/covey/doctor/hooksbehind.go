package doctor

import (
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
)

// fireWhole fires an event and waits for all its hooks, including those in the
// background, because the operator wants to see their results. The outcome holds what
// they say to the model. A turn end to which one of them objects counts as refused,
// because the agent goes on either way.
func fireWhole(ctx context.Context, hookRunner *runner.Runner, in hooks.Input) (hooks.Outcome, error) {
	var late []hooks.Progress
	out, err := hookRunner.Run(ctx, in, func(p hooks.Progress) {
		if p.Background != nil && p.Result != nil {
			late = append(late, p)
		}
	})
	// Drain returns after all observers have been told, so late is complete and needs no
	// lock.
	hookRunner.Drain(ctx, "")
	for _, p := range late {
		b := p.Background
		out.Results = append(out.Results, *p.Result)
		out.SystemMessages = append(out.SystemMessages, b.SystemMessages...)
		if !b.Wakes {
			out.AdditionalContext = append(out.AdditionalContext, b.Messages...)
			continue
		}
		out.Feedback, out.Messages = append(out.Feedback, b.Messages...), append(out.Messages, b.Messages...)
		if b.Feedback && out.Decision == hooks.Pass {
			out.Decision = hooks.Block
		}
	}
	return out, err
}
