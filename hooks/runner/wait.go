package runner

import (
	"cmp"
	"context"

	"github.com/coveyteam/covey/hooks"
)

// askAwaited asks the questions of the gates that wait. It asks none if a hook refuses,
// because the work they are about will change then.
func (r *run) askAwaited(ctx context.Context) {
	for _, v := range r.verdicts {
		// The verdicts need no lock any more: all hooks have ended.
		if v.Refused >= hooks.Refuses || v.Halt {
			return
		}
	}
	for i := range r.verdicts {
		v := &r.verdicts[i]
		if !v.Waits() || v.Wait.Ask == nil || ctx.Err() != nil {
			continue
		}
		result := v.Wait.Ask(ctx)
		result.Type, result.Command, result.Duration = v.Type, v.Command, v.Duration
		v.Result = result
		if result.Outcome != hooks.Success && !result.Waits() { // the question could not be asked
			v.Refuse(r.known, max(r.known.Exit2, hooks.Refuses), cmp.Or(result.Feedback, NoReason))
		}
	}
}
