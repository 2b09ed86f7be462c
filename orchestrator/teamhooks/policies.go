package teamhooks

import (
	"context"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks"
)

// PolicyOptions are the dependencies of Policies.
type PolicyOptions struct {
	Store  *tasks.Store
	Writes Writes
	// Approvals returns the policy that asks an approver.
	Approvals func(approver string) runner.Policy
	// Changed is the policy changed-something.
	Changed runner.Policy
	// Taken is the policy inbox.TakenPolicy.
	Taken runner.Policy

	Lead      func() *members.Member
	Member    func(name string) (*members.Member, bool)
	SessionOf func(session string) (*members.Member, bool) // the member of a session
	// Awaited reports whether a task waits for an answer.
	Awaited func(tasks.Task) bool
	// OnPass reports whether tasks are completed when a turn end passes its gates.
	OnPass func() bool
	// Unreported returns the tasks that a member has completed since it last wrote to the lead.
	Unreported func(member string) []string
}

// Writes judge what members have written.
type Writes interface {
	Committed(ctx context.Context, in hooks.Input) hooks.Result
	Files(ctx context.Context, in hooks.Input) hooks.Result
}

// Policies are the gates that ship with covey. Each refusal tells the member what
// to do.
type Policies struct{ opts PolicyOptions }

// NewPolicies makes the policies of a team.
func NewPolicies(o PolicyOptions) *Policies { return &Policies{o} }

// All returns the policies by name.
func (p *Policies) All() map[string]runner.Policy {
	return map[string]runner.Policy{
		"no-open-tasks":        p.noOpenTasks,
		writes.CommittedPolicy: p.opts.Writes.Committed,
		"report-sent":          p.reportSent,
		"changed-something":    p.opts.Changed,
		writes.FilesPolicy:     p.opts.Writes.Files,
		inbox.TakenPolicy:      p.opts.Taken,
	}
}

// Named returns the policy of a gate by its name, for runner.Options.Policies. The name may
// also be that of an approval.
func (p *Policies) Named(name string) runner.Policy {
	if who, ok := inbox.Approver(name); ok {
		return p.opts.Approvals(inbox.ApproverOf(who))
	}
	return p.All()[name]
}

// MemberOf returns the name of the member that an input is about. Inputs of the lead's hooks
// have no teammate_name, so it uses the session.
func (p *Policies) MemberOf(in hooks.Input) string {
	var name string
	switch about := in.Payload.(type) {
	case hooks.TeammateIdleInput:
		name = about.TeammateName
	case hooks.TaskCompletedInput:
		name = about.TeammateName
	case hooks.StopInput:
		name = about.TeammateName
	default:
		name, _, _ = strings.Cut(in.AgentID, "@")
	}
	if name != "" {
		return name
	}
	if m, ok := p.opts.SessionOf(in.SessionID); ok {
		return m.Name
	}
	return ""
}

// noOpenTasks refuses while the member owns a task that it could work on, or while there is a
// task that it could claim.
func (p *Policies) noOpenTasks(ctx context.Context, in hooks.Input) hooks.Result {
	name := p.MemberOf(in)
	own, err := p.opts.Store.Actable(ctx, name)
	if err != nil {
		return runner.Broken(err)
	}
	member, known := p.opts.Member(name)
	words := teamtools.BuiltinNames
	if known {
		words = teamtools.NamesFor(member.CurrentAgent())
	}
	owed := slices.DeleteFunc(own, func(t tasks.Task) bool {
		return p.opts.Awaited(t) || t.Status == tasks.InProgress && p.opts.OnPass() // which completes it
	})
	if len(owed) > 0 {
		return runner.Refuse("You still own %s. Finish with %s, or give it back.", tasks.NamesOf(owed), words.Completing())
	}
	// Only one task is named, because another member may claim the others first.
	t, ready, err := p.opts.Store.FirstReady(ctx, func(w tasks.Wants) bool { return !known || members.Takes(member.Member, w) })
	switch {
	case err != nil:
		return runner.Broken(err)
	case ready:
		return runner.Refuse("Task %s (%s) is ready and nobody has it. Claim it with %s.", t.ID,
			plan.SubjectLine(t), words.Claiming(t.ID))
	}
	return runner.Agree()
}

// reportSent refuses while the member has completed a task since it last wrote
// to the lead.
func (p *Policies) reportSent(_ context.Context, in hooks.Input) hooks.Result {
	member, ok := p.opts.Member(p.MemberOf(in))
	if !ok || member.Lead {
		return runner.Agree() // the lead does not report to a member
	}
	if open := p.opts.Unreported(member.Name); len(open) > 0 {
		return runner.Refuse("You have completed %s and the lead has not heard of it. Send %s a message about the result first.",
			tasks.Named(open...), p.opts.Lead().Name)
	}
	return runner.Agree()
}
