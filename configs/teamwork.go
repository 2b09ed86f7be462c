package configs

import (
	"cmp"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
)

// OnAsk describes what happens to a question to a person while nobody is attached.
type OnAsk string

// The values of OnAsk.
const (
	DenyAsk OnAsk = "deny" // the answer is no, at once
	WaitAsk OnAsk = "wait" // it waits in the inbox, for AskLimit at most
)

// teamworkSpec holds the keys of a spec about how members work together: worktrees, merges,
// budgets, schedules, questions, notices.
type teamworkSpec struct {
	worktree       worktreeSpec
	merge          mergeSpec
	git            Git
	protect        yaml.List[yaml.Value[string]]
	sandbox        sandboxSpec
	budget         budgetSpec
	schedules      yaml.List[scheduleSpec]
	onAsk          OnAsk
	askLimit       yaml.Value[time.Duration]
	completeOnPass bool
	othersTasks    string
	notify         yaml.List[notifySpec]
	web            webSpec
	bus            busSpec
	nodes          []yaml.Entry[nodeSpec]
}

// fields returns these keys, in the order in which docs/spec.md and the schema show them.
func (s *teamworkSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "worktree", Part: yaml.Object(nil, s.worktree.fields()),
			Doc: "How working copies are made, for members that have one."},
		{Key: "merge", Part: yaml.Object(&s.merge.at, s.merge.fields()),
			Doc: "Where finished work goes. Without it, work waits for `covey merge`."},
		{Key: "git", Part: yaml.Object(nil, s.git.fields()),
			Doc: "What git may do when covey runs it, for working copies, diffs and merges."},
		{Key: "protect", Part: yaml.Globs(&s.protect),
			Doc: "Globs below the workspace. Merges and calls of file tools that change such files need a person's approval; " +
				"a sandbox of level 2 keeps them from commands in a shared workspace."},
		{Key: "sandbox", Part: yaml.Object(nil, s.sandbox.fields()),
			Doc: "What the programs of members may access, whatever they do."},
		{Key: "budget", Part: yaml.Object(&s.budget.at, s.budget.fields()),
			Doc: "What the whole team may use, over all its runs."},
		{Key: "schedules", Part: yaml.ListOf(&s.schedules, "a list of schedules", schedulePart),
			Doc: "Recurring tasks and messages. A team with schedules stays up when all work is done."},
		{Key: "on_ask", Part: yaml.IntoWord(&s.onAsk, WaitAsk, DenyAsk),
			Doc: "What happens to a question while nobody is attached: wait, it waits in the inbox; deny, the answer is " +
				"no at once. Default: deny."},
		{Key: "ask_limit", Part: yaml.SomeTime(&s.askLimit),
			Doc: "How long a question may wait in the inbox before the answer is no. Default: 10m."},
		{Key: "complete_on_pass", Part: yaml.Into(&s.completeOnPass, yaml.Truth),
			Doc: "Complete the tasks that a teammate has in progress when its turn end passes all gates. " +
				"Default: false, the teammate completes them itself."},
		{Key: "others_tasks", Part: yaml.IntoWord(&s.othersTasks, "edit", "read"),
			Doc: "What a teammate may do with a task of another member that is not in progress: edit, change, complete and " +
				"delete it; read, only read it. Default: edit."},
		{Key: "notify", Part: yaml.ListOf(&s.notify, "a list of rules", notifyPart),
			Doc: "Who is told what, where, and after how long."},
		{Key: "web", Part: yaml.Object(nil, s.web.fields()),
			Doc: "How people reach the web page of the team."},
		{Key: "bus", Part: yaml.Object(&s.bus.at, s.bus.fields()),
			Doc: "The NATS servers that keep the team's data, so that another host can continue the team. Default: this host does."},
		{Key: "nodes", Part: yaml.Dict(&s.nodes, "a mapping from names to nodes", nodePart),
			Doc: "Other hosts that run `covey node` and carry members."},
	}
}

// teamwork resolves the keys about how members work together. It runs last, because it
// looks up owners and receivers among the members. It continues after a mistake, so that
// all are reported at once.
func (r *resolver) teamwork(t *Team, s *teamSpec) {
	w := &s.work
	t.Worktree = w.worktree.Worktree
	t.Worktree.Setup, t.Worktree.Base = yaml.Words(w.worktree.setup), w.worktree.base.V
	for _, command := range w.worktree.setup.Items {
		if command.At.Kind == yaml.TextKind && strings.TrimSpace(command.V) == "" {
			r.Fail(command.At.At, "the command is empty; write one, or remove it")
		}
	}
	r.ref(w.worktree.base, "base")
	r.ref(w.merge.into, "into")
	t.Merge.Into, t.Merge.Given = w.merge.into.V, w.merge.at != nil
	t.Merge.Via, t.Merge.Per = cmp.Or(w.merge.via, ViaBranch), cmp.Or(w.merge.per, PerTask)
	// Gates on a merge belong to no event: the merge runs them itself.
	t.Merge.Gates = (&gateRules{r.Decoder, r.Workspace}).group(hooks.TaskCompleted, s.gates.merge).Hooks
	t.Git = w.git
	t.Protect = yaml.Words(w.protect)
	t.Budget = r.budget(t, &w.budget)
	t.Schedules = (&taskRules{r.Decoder}).schedules(t, w.schedules)
	t.OnAsk = cmp.Or(w.onAsk, DenyAsk)
	t.AskLimit = w.askLimit.Or(defaultAskLimit)
	t.CompleteOnPass, t.ReadOthersTasks = w.completeOnPass, w.othersTasks == "read"
	t.Notify, t.Web = noticeRules{r}.notify(w.notify, t.MemberNames()), noticeRules{r}.web(&w.web)
	t.Bus = r.bus(&w.bus)
}

// Defaults.
const (
	defaultAskLimit      = 10 * time.Minute
	defaultRestarts      = 3
	defaultRestartWithin = time.Hour
)

// Person stands for whoever answers the inbox, where a member's name could stand. No member
// can have this name.
const Person = "person"

// ref refuses a value that git would read as an option or as more than one word. Whether
// the branch or commit exists is checked when the team starts.
func (r *resolver) ref(v yaml.Value[string], what string) {
	if v.V != "" && (strings.HasPrefix(v.V, "-") || strings.ContainsAny(v.V, " \t\n~^:?*[\\") && !isCommit(v.V)) {
		r.Fail(v.At.At, "%s cannot be %s; write a branch such as main, or a commit", what, yaml.Quote(v.V))
	}
}

// isCommit reports whether a text may name a commit relative to another, as in main~2.
func isCommit(text string) bool {
	return !strings.ContainsAny(text, " \t\n:?*[\\") && !strings.HasPrefix(text, "~") && !strings.HasPrefix(text, "^")
}

// Worktree configures the working copies of members whose Isolation is InWorktree.
type Worktree struct {
	Setup   []string // shell commands that are run in a new working copy, in order
	Include []string // globs of ignored files that are copied from the workspace
	Base    string   // branch or commit that working copies start from; empty means the workspace's HEAD
	MaxDisk int64    // bytes that all working copies of the team may take; 0 means no limit
	Ports   int      // how many network ports each working copy gets; 0 means none
}

// worktreeSpec is the section `worktree`.
type worktreeSpec struct {
	Worktree
	setup yaml.List[yaml.Value[string]]
	base  yaml.Value[string]
}

// fields returns the keys about working copies.
func (w *worktreeSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "setup", Part: yaml.Args(&w.setup),
			Doc: "Commands that prepare a new working copy, such as npm ci. /bin/sh runs them in it, in order."},
		{Key: "include", Part: yaml.Via(&w.Include, yaml.Globs, yaml.Words),
			Doc: "Globs of files that git ignores and that are copied from the workspace, such as .env.local."},
		{Key: "base", Part: yaml.Text(&w.base),
			Doc: "The branch or commit that working copies start from. Default: the workspace's HEAD."},
		{Key: "max_disk", Part: yaml.Into(&w.MaxDisk, yaml.Size),
			Doc: "Disk space that all working copies of the team may take, such as 5GB. 0: no limit. Default: no limit."},
		{Key: "ports", Part: yaml.Into(&w.Ports, yaml.WholeFrom(1, 100)),
			Doc: "How many network ports each working copy gets for its own. COVEY_PORT_0, COVEY_PORT_1 and so on name them " +
				"to the member, its setup and its gates. Default: none."},
	}
}

// Git describes what the git that covey runs may do.
type Git struct {
	// Filters are names of filters that may run although only the repository's own
	// configuration defines them. Those of the user's configuration always run.
	Filters []string
}

// fields returns the keys about git.
func (g *Git) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "filters", Part: yaml.Via(&g.Filters, yaml.Texts, yaml.Words),
			Doc: "Filters, such as lfs, that may run although only the repository's own configuration defines them. Filters of " +
				"your global configuration always run."},
	}
}

// MergeVia describes how finished work gets into the branch it is for.
type MergeVia string

// The ways to merge.
const (
	ViaBranch MergeVia = "branch" // covey moves the branch
	ViaPR     MergeVia = "pr"     // a branch, a title and the evidence are left for a pull request
)

// MergePer is the unit that is merged at once.
type MergePer string

// The units of a merge.
const (
	PerTask   MergePer = "task"
	PerMember MergePer = "member"
)

// Merge describes where finished work goes. Into is empty in a spec without the key, which means
// the branch that the workspace is on.
type Merge struct {
	Into string
	Via  MergeVia // never empty
	Per  MergePer // never empty
	// Given means that the spec has the key, so that finished work is merged unasked.
	Given bool
	// Gates must agree to the merged state before it counts; each has Gate set.
	Gates []hooks.Handler
}

// mergeSpec is the section `merge`.
type mergeSpec struct {
	at   *yaml.Node
	into yaml.Value[string]
	via  MergeVia
	per  MergePer
}

// fields returns the keys about merges.
func (m *mergeSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "into", Part: yaml.Text(&m.into),
			Doc: "The branch that finished work goes into. Default: the one that the workspace is on."},
		{Key: "via", Part: yaml.IntoWord(&m.via, ViaBranch, ViaPR),
			Doc: "branch: covey moves the branch. pr: it leaves a branch, a title and the evidence for a pull request. " +
				"Default: branch."},
		{Key: "per", Part: yaml.IntoWord(&m.per, PerTask, PerMember),
			Doc: "What is merged at once: the work on a task, or all work of a member. Default: task."},
	}
}
