package orchestrator

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
)

// policies are the gates that ship with covey (DESIGN 4). Each refuses with
// what the member should do instead.
func (c *crew) policies() map[string]runner.Policy {
	return map[string]runner.Policy{
		"no-open-tasks":       c.noOpenTasks,
		owned.CommittedPolicy: c.writes.Committed,
		"report-sent":         c.reportSent,
		owned.FilesPolicy:     c.writes.Files,
	}
}

// memberOf is the member that an input is about. Hooks of the lead name no
// teammate; who they are for follows from the session.
func (c *crew) memberOf(in hooks.Input) string {
	var name string
	switch p := in.Payload.(type) {
	case hooks.TeammateIdleInput:
		name = p.TeammateName
	case hooks.TaskCompletedInput:
		name = p.TeammateName
	case hooks.StopInput:
		name = p.TeammateName
	default:
		name, _, _ = strings.Cut(in.AgentID, "@")
	}
	if s, ok := c.bySession(in.SessionID); ok && name == "" {
		return s.member.Name
	}
	return name
}

// noOpenTasks refuses while the member owns a task that it could work on, or
// while one that it could take waits for somebody.
func (c *crew) noOpenTasks(ctx context.Context, in hooks.Input) hooks.Result {
	all, err := c.store.List(ctx)
	if err != nil {
		return runner.Broken(err)
	}
	member := c.memberOf(in)
	s, ok := c.seat(member)
	words := teamtools.BuiltinNames
	if ok {
		words = teamtools.NamesFor(s.member.CurrentAgent())
	}
	own := slices.DeleteFunc(c.stillOwed(tasks.Actable(all, member)), c.asks.Holds)
	if member != "" && len(own) > 0 {
		return runner.Refuse("You still own %s. Finish with %s, or give it back.", tasks.NamesOf(own), words.Completing())
	}
	for _, t := range all {
		if tasks.Ready(&t, all) && t.Owner == "" && (!ok || t.Wants.Suits(roster.Skills(*s.member.Member))) {
			return runner.Refuse("Task %s (%s) is ready and nobody has it. Claim it with %s.", t.ID,
				plan.SubjectLine(t), words.Claiming(t.ID))
		}
	}
	return runner.Agree()
}

// reportSent refuses while the member has completed a task since it last wrote
// to the lead.
func (c *crew) reportSent(ctx context.Context, in hooks.Input) hooks.Result {
	s, ok := c.seat(c.memberOf(in))
	if !ok || s.member.Lead {
		return runner.Agree() // the lead reports to nobody
	}
	if c.journal != nil {
		c.journal.CatchUp(ctx) // a report that was just sent counts
	}
	if open := c.watch.Of(s.member.Name).Unreported; len(open) > 0 {
		return runner.Refuse("You have completed %s and the lead has not heard of it. Send %s a message about the result first.",
			tasks.Named(open...), c.seats()[0].member.Name)
	}
	return runner.Agree()
}

// policy is what a gate names: one that ships with covey, or the approval of somebody. It is
// looked for when the gate is asked, because spec and members may change until then.
func (c *crew) policy(name string) runner.Policy {
	if who, ok := inbox.Approver(name); ok {
		return c.asks.Approvals.By(inbox.ApproverOf(who))
	}
	return c.policies()[name]
}

// completerOf is whose completion of a task the gates look at: a member's, or the
// operator's. claims says that somebody says so in words.
func (c *crew) completerOf(ctx context.Context, in hooks.Input) (who string, claims bool) {
	if by, ok := teamtools.Completer(ctx); ok {
		return by, true
	}
	return cmp.Or(c.memberOf(in), c.seats()[0].member.Name), false
}
