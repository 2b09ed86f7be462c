package runner

import (
	"cmp"
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/judging"
)

// askAwaited puts the questions of the gates that wait, unless a hook refuses: what
// they ask about will change then.
func (r *run) askAwaited(ctx context.Context) {
	for _, v := range r.verdicts {
		if v.Refused >= hooks.Refuses || v.Halt {
			return
		}
	}
	for i := range r.verdicts {
		v := &r.verdicts[i]
		if !v.Waits() || v.Wait.Ask == nil || ctx.Err() != nil {
			continue
		}
		said := v.Wait.Ask(ctx)
		said.Type, said.Command, said.Duration = v.Type, v.Command, v.Duration
		switch {
		case said.Outcome == hooks.Success || said.Waits():
			v.Result = said
		default: // the question could not be put, and nobody will answer it
			v.Result = said
			v.Refuse(r.known, max(r.known.Exit2, hooks.Refuses), cmp.Or(said.Feedback, judging.NoReason))
		}
	}
}
