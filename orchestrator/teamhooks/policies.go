package teamhooks

import (
	"context"
	"slices"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks"
)

// PolicyDeps are the dependencies of Policies.
type PolicyDeps struct {
	Store     *tasks.Store
	State     *view.Live // what the members do and have done
	Members   inbox.Members
	Inbox     *inbox.Inbox
	Approvals *inbox.Approvals
	Copies    *workcopies.Trees
	Writes    *writes.Watch
	Merges    *merging.Merger
	// OnPass reports whether tasks are completed when a turn end passes its gates.
	OnPass func() bool
}

// Policies are the gates that ship with covey. Each refusal tells the member what
// to do.
type Policies struct{ deps PolicyDeps }

// NewPolicies makes the policies of a team.
func NewPolicies(o PolicyDeps) *Policies { return &Policies{o} }

// All returns the policies by name.
func (p *Policies) All() map[string]runner.Policy {
	return map[string]runner.Policy{
		"no-open-tasks":        p.noOpenTasks,
		writes.CommittedPolicy: p.deps.Writes.Committed,
		"report-sent":          p.reportSent,
		"changed-something":    p.deps.Merges.ChangedSomething,
		writes.FilesPolicy:     p.deps.Writes.Files(p.deps.Merges.OutsideOf),
		inbox.TakenPolicy:      p.deps.Approvals.Taken(p.deps.Copies.Beyond),
	}
}

// Named returns the policy of a gate by its name, for runner.Options.Policies. The name may
// also be that of an approval.
func (p *Policies) Named(name string) runner.Policy {
	if who, ok := inbox.Approver(name); ok {
		return p.deps.Approvals.By(inbox.ApproverOf(who))
	}
	return p.All()[name]
}

// noOpenTasks refuses while the member owns a task that it could work on, or while there is a
// task that it could claim.
func (p *Policies) noOpenTasks(ctx context.Context, in hooks.Input) hooks.Result {
	name := p.deps.Members.MemberOf(in)
	own, err := p.deps.Store.Actable(ctx, name)
	if err != nil {
		return runner.Broken(err)
	}
	member, known := p.deps.Members.Member(name)
	words := teamtools.BuiltinNames
	if known {
		words = teamtools.NamesFor(member.CurrentAgent())
	}
	owed := slices.DeleteFunc(own, func(t tasks.Task) bool {
		return p.deps.Inbox.Holds(t) || t.Status == tasks.InProgress && p.deps.OnPass() // which completes it
	})
	if len(owed) > 0 {
		return runner.Refuse("You still own %s. Finish with %s, or give it back.", tasks.NamesOf(owed), words.Completing())
	}
	// Only one task is named, because another member may claim the others first.
	t, ready, err := p.deps.Store.FirstReady(ctx, func(w tasks.Wants) bool { return !known || members.Takes(member.Member, w) })
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
	member, ok := p.deps.Members.Member(p.deps.Members.MemberOf(in))
	if !ok || member.Lead {
		return runner.Agree() // the lead does not report to a member
	}
	if open := p.deps.State.Unreported(member.Name); len(open) > 0 {
		return runner.Refuse("You have completed %s and the lead has not heard of it. Send %s a message about the result first.",
			tasks.Named(open...), p.deps.Members.LeadMember().Name)
	}
	return runner.Agree()
}
