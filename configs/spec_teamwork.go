package configs

import (
	"time"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// teamworkSpec holds the keys of a spec that are about how members work
// together: worktrees, merges, budgets, schedules, questions.
type teamworkSpec struct {
	worktree       worktreeSpec
	merge          mergeSpec
	git            gitSpec
	protect        schema.List[schema.Value[string]]
	budget         budgetSpec
	schedules      schema.List[scheduleSpec]
	onAsk          schema.Value[string]
	askLimit       schema.Value[time.Duration]
	completeOnPass schema.Value[bool]
}

// fields are these keys, in the order of DESIGN 4 so far as it names them.
func (s *teamworkSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "worktree", Part: schema.Object(nil, s.worktree.fields()),
			Doc: "How the working copies of members are made that have one of their own."},
		{Key: "merge", Part: schema.Object(&s.merge.at, s.merge.fields()),
			Doc: "Where finished work goes. Without it, work waits for `covey merge`."},
		{Key: "git", Part: schema.Object(nil, s.git.fields()),
			Doc: "What git may do where covey runs it: for working copies, diffs and merges."},
		{Key: "protect", Part: schema.Globs(&s.protect),
			Doc: "Globs below the workspace; what is written there, with whatever tool, needs a person's approval."},
		{Key: "budget", Part: schema.Object(&s.budget.at, s.budget.fields()),
			Doc: "What the whole team may use, over all its runs."},
		{Key: "schedules", Part: schema.ListOf(&s.schedules, "a list of schedules", schedulePart),
			Doc: "Tasks and messages that come again and again. A team that has some stays up when all is done."},
		{Key: "on_ask", Part: schema.OneOf(&s.onAsk, string(WaitAsk), string(DenyAsk)),
			Doc: "What becomes of a question to a person while nobody is attached: wait, it waits in the inbox; " +
				"deny, no is the answer at once. Default: deny."},
		{Key: "ask_limit", Part: schema.Span(&s.askLimit),
			Doc: "How long a question may wait in the inbox before no is the answer. Default: 10m."},
		{Key: "complete_on_pass", Part: schema.Truth(&s.completeOnPass),
			Doc: "Complete the tasks that a teammate has in progress when its turn end passes all gates. " +
				"Default: false, it says itself when one is done."},
	}
}

// worktreeSpec is the section `worktree`.
type worktreeSpec struct {
	setup   schema.List[schema.Value[string]]
	include schema.List[schema.Value[string]]
	base    schema.Value[string]
	maxDisk schema.Value[int64]
}

// fields are what can be said of working copies.
func (w *worktreeSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "setup", Part: schema.Args(&w.setup),
			Doc: "Commands that a new working copy needs, such as npm ci. /bin/sh runs them in it, in order."},
		{Key: "include", Part: schema.Globs(&w.include),
			Doc: "Globs of files that git ignores and that are copied from the workspace, such as .env.local."},
		{Key: "base", Part: schema.Text(&w.base),
			Doc: "The branch or commit that working copies start from. Default: what the workspace is on."},
		{Key: "max_disk", Part: schema.Size(&w.maxDisk),
			Doc: "Disk space that all working copies of the team may take, such as 5GB. 0: no limit. Default: no limit."},
	}
}

// mergeSpec is the section `merge`.
type mergeSpec struct {
	at             *yaml.Node
	into, via, per schema.Value[string]
}

// fields are what can be said of merges.
func (m *mergeSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "into", Part: schema.Text(&m.into),
			Doc: "The branch that finished work goes into. Default: the one that the workspace is on."},
		{Key: "via", Part: schema.OneOf(&m.via, string(ViaBranch), string(ViaPR)),
			Doc: "branch: covey moves the branch. pr: it leaves a branch, a title and the evidence for a pull request. " +
				"Default: branch."},
		{Key: "per", Part: schema.OneOf(&m.per, string(PerTask), string(PerMember)),
			Doc: "What is merged at once: the work on a task, or all of a member's. Default: task."},
	}
}

// gitSpec is the section `git`.
type gitSpec struct {
	filters schema.List[schema.Value[string]]
}

// fields are what can be allowed to git.
func (g *gitSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "filters", Part: schema.Texts(&g.filters),
			Doc: "Filters, such as lfs, that may run though only the repository's own configuration defines them. Without it " +
				"their files are neither committed nor checked out by covey. Those of your global configuration always run."},
	}
}

// budgetSpec is the section `budget`.
type budgetSpec struct {
	at      *yaml.Node
	tokens  schema.Value[int64]
	usd     schema.Value[float64]
	time    schema.Value[time.Duration]
	onLimit schema.Value[string]
	prices  schema.Value[string]
}

// fields are the team's limits; 0 is none, as with those of members.
func (b *budgetSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "tokens", Part: schema.Count(&b.tokens),
			Doc: "Tokens of all members, such as 3M or 200k. 0: no limit. Default: no limit."},
		{Key: "usd", Part: schema.Amount(&b.usd),
			Doc: "Cost of all members in US dollars, where prices are known. 0: no limit. Default: no limit."},
		{Key: "time", Part: schema.Span(&b.time),
			Doc: "Time that the team is up, such as 2h. 0: no limit. Default: no limit."},
		{Key: "on_limit", Part: schema.OneOf(&b.onLimit, string(WaitForLimit), string(FallBack), string(StopAtLimit)),
			Doc: "What happens when an agent is at a limit of its vendor: wait until it is over; fallback, go on " +
				"with the agent's fallback; stop, end the team. Default: wait."},
		{Key: "prices", Part: schema.Text(&b.prices),
			Doc: "A file of prices, relative to the spec; they come before those that covey knows."},
	}
}

// restartSpec says how often a member is started again.
type restartSpec struct {
	at     *yaml.Node
	max    schema.Value[int64]
	within schema.Value[time.Duration]
}

// fields are how often, and in what time.
func (r *restartSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "max", Need: true, Part: schema.WholeFrom(0, 1000, &r.max),
			Doc: "How often it is started again after its agent has failed. 0: never."},
		{Key: "within", Part: schema.Span(&r.within),
			Doc: "The time in which so many starts may be; what lies further back does not count. Default: 1h."},
	}
}

// teamworkFields are the keys of a member that are about the others.
func (m *memberSpec) teamworkFields() []schema.Field {
	return []schema.Field{
		{Key: "role", Part: schema.Text(&m.role),
			Doc: "What it is, for tasks that want a role. Default: the name of its agent, or else its own."},
		{Key: "labels", Part: schema.Texts(&m.labels),
			Doc: "Words for what it is good at, for tasks that want labels. Default: none."},
		{Key: "plan", Part: schema.OneOf(&m.plan, planRequired, planNone),
			Doc: "required: it only reads until its plan is approved. none: it needs no plan. Default: none."},
		{Key: "depends_on", Part: schema.Texts(&m.dependsOn),
			Doc: "Members that must have no open work before it gets any."},
		{Key: "restart", Part: schema.Object(&m.restart.at, m.restart.fields()),
			Doc: "How often it begins anew when its agent or a turn fails; then it leaves, and its tasks are open again. " +
				"Default: an agent program that dies is started again three times in a row, and nothing else is."},
	}
}

// The words for whether a member needs a plan; none lifts what it inherits.
const (
	planRequired = "required"
	planNone     = "none"
)

// scheduleSpec is one schedule.
type scheduleSpec struct {
	at                         *yaml.Node
	name, cron, zone, to, text schema.Value[string]
	task                       scheduledSpec
}

// schedulePart takes a schedule.
func schedulePart(s *scheduleSpec) schema.Part {
	return schema.Shared("schedule", schema.Object(&s.at, s.fields()))
}

// fields are the keys of a schedule. It needs a task, or to and text, which the
// resolver asks for.
func (s *scheduleSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "name", Need: true, Part: schema.Ident(&s.name), Doc: "What the schedule is called."},
		{Key: "cron", Need: true, Part: schema.Text(&s.cron),
			Doc: "When: minute, hour, day of the month, month, day of the week, such as \"30 7 * * 1-5\"; or @hourly, " +
				"@daily, @weekly, @monthly, @yearly, or @every 90m."},
		{Key: "zone", Part: schema.Text(&s.zone),
			Doc: "The time zone, such as Europe/Berlin. Default: the machine's."},
		{Key: "task", Part: schema.Object(&s.task.at, s.task.fields()),
			Doc: "The task that is made each time, unless the one of the time before is still open."},
		{Key: "to", Part: schema.Text(&s.to), Doc: "The member that gets a message each time."},
		{Key: "text", Part: schema.Text(&s.text), Doc: "What the message says."},
	}
}

// scheduledSpec is a task that a schedule makes: it has no id and waits for nothing.
type scheduledSpec struct {
	at          *yaml.Node
	subject     schema.Value[string]
	description schema.Value[string]
	owner       schema.Value[string]
	labels      schema.List[schema.Value[string]]
	wants       wantsSpec
}

// fields are those of a task but for the ones that name other tasks of the spec.
func (t *scheduledSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "subject", Need: true, Part: schema.Text(&t.subject), Doc: "What is to be done, in a few words."},
		{Key: "description", Part: schema.Text(&t.description), Doc: "What is to be done, in full."},
		{Key: "owner", Part: schema.Text(&t.owner), Doc: "The member that is told of it and works on it first."},
		{Key: "labels", Part: schema.Texts(&t.labels), Doc: "Words to sort tasks by."},
		{Key: "wants", Part: schema.Object(nil, t.wants.fields()), Doc: "What a member must have to take it by itself."},
	}
}
