package configs

import (
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// teamworkSpec holds the keys of a spec that are about how members work
// together: worktrees, merges, budgets, schedules, questions.
type teamworkSpec struct {
	worktree       worktreeSpec
	merge          mergeSpec
	git            gitSpec
	protect        list[value[string]]
	budget         budgetSpec
	schedules      list[scheduleSpec]
	onAsk          value[string]
	askLimit       value[time.Duration]
	completeOnPass value[bool]
}

// fields are these keys, in the order of DESIGN 4 so far as it names them.
func (s *teamworkSpec) fields() []field {
	return []field{
		{key: "worktree", part: object(nil, s.worktree.fields()),
			doc: "How the working copies of members are made that have one of their own."},
		{key: "merge", part: object(&s.merge.at, s.merge.fields()),
			doc: "Where finished work goes. Without it, work waits for `covey merge`."},
		{key: "git", part: object(nil, s.git.fields()),
			doc: "What git may do where covey runs it: for working copies, diffs and merges."},
		{key: "protect", part: globs(&s.protect),
			doc: "Globs below the workspace; what is written there, with whatever tool, needs a person's approval."},
		{key: "budget", part: object(&s.budget.at, s.budget.fields()),
			doc: "What the whole team may use, over all its runs."},
		{key: "schedules", part: listOf(&s.schedules, "a list of schedules", schedulePart),
			doc: "Tasks and messages that come again and again. A team that has some stays up when all is done."},
		{key: "on_ask", part: oneOf(&s.onAsk, string(WaitAsk), string(DenyAsk)),
			doc: "What becomes of a question to a person while nobody is attached: wait, it waits in the inbox; " +
				"deny, no is the answer at once. Default: deny."},
		{key: "ask_limit", part: span(&s.askLimit),
			doc: "How long a question may wait in the inbox before no is the answer. Default: 10m."},
		{key: "complete_on_pass", part: truth(&s.completeOnPass),
			doc: "Complete the tasks that a teammate has in progress when its turn end passes all gates. " +
				"Default: false, it says itself when one is done."},
	}
}

// worktreeSpec is the section `worktree`.
type worktreeSpec struct {
	setup   list[value[string]]
	include list[value[string]]
	base    value[string]
	maxDisk value[int64]
}

// fields are what can be said of working copies.
func (w *worktreeSpec) fields() []field {
	return []field{
		{key: "setup", part: argsPart(&w.setup),
			doc: "Commands that a new working copy needs, such as npm ci. /bin/sh runs them in it, in order."},
		{key: "include", part: globs(&w.include),
			doc: "Globs of files that git ignores and that are copied from the workspace, such as .env.local."},
		{key: "base", part: text(&w.base),
			doc: "The branch or commit that working copies start from. Default: what the workspace is on."},
		{key: "max_disk", part: size(&w.maxDisk),
			doc: "Disk space that all working copies of the team may take, such as 5GB. 0: no limit. Default: no limit."},
	}
}

// mergeSpec is the section `merge`.
type mergeSpec struct {
	at             *yaml.Node
	into, via, per value[string]
}

// fields are what can be said of merges.
func (m *mergeSpec) fields() []field {
	return []field{
		{key: "into", part: text(&m.into),
			doc: "The branch that finished work goes into. Default: the one that the workspace is on."},
		{key: "via", part: oneOf(&m.via, string(ViaBranch), string(ViaPR)),
			doc: "branch: covey moves the branch. pr: it leaves a branch, a title and the evidence for a pull request. " +
				"Default: branch."},
		{key: "per", part: oneOf(&m.per, string(PerTask), string(PerMember)),
			doc: "What is merged at once: the work on a task, or all of a member's. Default: task."},
	}
}

// gitSpec is the section `git`.
type gitSpec struct {
	filters list[value[string]]
}

// fields are what can be allowed to git.
func (g *gitSpec) fields() []field {
	return []field{
		{key: "filters", part: texts(&g.filters),
			doc: "Filters, such as lfs, that may run though only the repository's own configuration defines them. Without it " +
				"their files are neither committed nor checked out by covey. Those of your global configuration always run."},
	}
}

// budgetSpec is the section `budget`.
type budgetSpec struct {
	at      *yaml.Node
	tokens  value[int64]
	usd     value[float64]
	time    value[time.Duration]
	onLimit value[string]
	prices  value[string]
}

// fields are the team's limits; 0 is none, as with those of members.
func (b *budgetSpec) fields() []field {
	return []field{
		{key: "tokens", part: count(&b.tokens),
			doc: "Tokens of all members, such as 3M or 200k. 0: no limit. Default: no limit."},
		{key: "usd", part: amount(&b.usd),
			doc: "Cost of all members in US dollars, where prices are known. 0: no limit. Default: no limit."},
		{key: "time", part: span(&b.time),
			doc: "Time that the team is up, such as 2h. 0: no limit. Default: no limit."},
		{key: "on_limit", part: oneOf(&b.onLimit, string(WaitForLimit), string(FallBack), string(StopAtLimit)),
			doc: "What happens when an agent is at a limit of its vendor: wait until it is over; fallback, go on " +
				"with the agent's fallback; stop, end the team. Default: wait."},
		{key: "prices", part: text(&b.prices),
			doc: "A file of prices, relative to the spec; they come before those that covey knows."},
	}
}

// restartSpec says how often a member is started again.
type restartSpec struct {
	at     *yaml.Node
	max    value[int64]
	within value[time.Duration]
}

// fields are how often, and in what time.
func (r *restartSpec) fields() []field {
	return []field{
		{key: "max", need: true, part: wholeFrom(0, 1000, &r.max),
			doc: "How often it is started again after its agent has failed. 0: never."},
		{key: "within", part: span(&r.within),
			doc: "The time in which so many starts may be; what lies further back does not count. Default: 1h."},
	}
}

// teamworkFields are the keys of a member that are about the others.
func (m *memberSpec) teamworkFields() []field {
	return []field{
		{key: "role", part: text(&m.role),
			doc: "What it is, for tasks that want a role. Default: the name of its agent, or else its own."},
		{key: "labels", part: texts(&m.labels),
			doc: "Words for what it is good at, for tasks that want labels. Default: none."},
		{key: "plan", part: oneOf(&m.plan, planRequired, planNone),
			doc: "required: it only reads until its plan is approved. none: it needs no plan. Default: none."},
		{key: "depends_on", part: texts(&m.dependsOn),
			doc: "Members that must have no open work before it gets any."},
		{key: "restart", part: object(&m.restart.at, m.restart.fields()),
			doc: "How often it begins anew when its agent or a turn fails; then it leaves, and its tasks are open again. " +
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
	name, cron, zone, to, text value[string]
	task                       scheduledSpec
}

// schedulePart takes a schedule.
func schedulePart(s *scheduleSpec) part { return shared("schedule", object(&s.at, s.fields())) }

// fields are the keys of a schedule. It needs a task, or to and text, which the
// resolver asks for.
func (s *scheduleSpec) fields() []field {
	return []field{
		{key: "name", need: true, part: ident(&s.name), doc: "What the schedule is called."},
		{key: "cron", need: true, part: text(&s.cron),
			doc: "When: minute, hour, day of the month, month, day of the week, such as \"30 7 * * 1-5\"; or @hourly, " +
				"@daily, @weekly, @monthly, @yearly, or @every 90m."},
		{key: "zone", part: text(&s.zone),
			doc: "The time zone, such as Europe/Berlin. Default: the machine's."},
		{key: "task", part: object(&s.task.at, s.task.fields()),
			doc: "The task that is made each time, unless the one of the time before is still open."},
		{key: "to", part: text(&s.to), doc: "The member that gets a message each time."},
		{key: "text", part: text(&s.text), doc: "What the message says."},
	}
}

// scheduledSpec is a task that a schedule makes: it has no id and waits for nothing.
type scheduledSpec struct {
	at          *yaml.Node
	subject     value[string]
	description value[string]
	owner       value[string]
	labels      list[value[string]]
	wants       wantsSpec
}

// fields are those of a task but for the ones that name other tasks of the spec.
func (t *scheduledSpec) fields() []field {
	return []field{
		{key: "subject", need: true, part: text(&t.subject), doc: "What is to be done, in a few words."},
		{key: "description", part: text(&t.description), doc: "What is to be done, in full."},
		{key: "owner", part: text(&t.owner), doc: "The member that is told of it and works on it first."},
		{key: "labels", part: texts(&t.labels), doc: "Words to sort tasks by."},
		{key: "wants", part: object(nil, t.wants.fields()), doc: "What a member must have to take it by itself."},
	}
}
