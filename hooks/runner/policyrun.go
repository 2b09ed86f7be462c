package runner

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
)

// runPolicy asks a policy. A program that embeds covey may have written it, so a panic
// refuses instead of ending the team.
func (r *run) runPolicy(ctx context.Context, h *armed) (v Verdict) {
	refuse := func(result hooks.Result, text string) {
		v = Verdict{Result: result}
		v.Refuse(r.known, max(r.known.Exit2, hooks.Refuses), fmt.Sprintf("[%s]: %s", h.label, text))
	}
	var policy Policy
	if r.opts.Policies != nil {
		policy = r.opts.Policies(h.Policy)
	}
	if policy == nil {
		refuse(hooks.Result{ExitCode: -1}, "there is no policy of that name")
		return v
	}
	defer func() {
		if cause := recover(); cause != nil {
			refuse(hooks.Result{ExitCode: -1}, fmt.Sprintf("the policy panicked: %v", cause))
		}
	}()
	// Any outcome but these three refuses, also one that the policy has left empty.
	result := policy(ctx, r.in)
	if result.Outcome == hooks.Success || result.Outcome == hooks.Cancelled && ctx.Err() != nil || result.Waits() {
		return Verdict{Result: result}
	}
	refuse(result, cmp.Or(result.Feedback, NoReason))
	return v
}
