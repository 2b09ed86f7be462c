package configs

import (
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// OnAsk says what happens to a question to a person while nobody is attached.
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
	git            gitSpec
	protect        yaml.List[yaml.Value[string]]
	sandbox        sandboxSpec
	budget         budgetSpec
	schedules      yaml.List[scheduleSpec]
	onAsk          yaml.Value[string]
	askLimit       yaml.Value[time.Duration]
	completeOnPass yaml.Value[bool]
	othersTasks    yaml.Value[string]
	notify         yaml.List[notifySpec]
	web            webSpec
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
			Doc: "Globs below the workspace. What is written there, with whatever tool, needs a person's approval."},
		{Key: "sandbox", Part: yaml.Object(nil, s.sandbox.fields()),
			Doc: "What members may access beyond their workspace."},
		{Key: "budget", Part: yaml.Object(&s.budget.at, s.budget.fields()),
			Doc: "What the whole team may use, over all its runs."},
		{Key: "schedules", Part: yaml.ListOf(&s.schedules, "a list of schedules", schedulePart),
			Doc: "Recurring tasks and messages. A team with schedules stays up when all work is done."},
		{Key: "on_ask", Part: yaml.OneOf(&s.onAsk, string(WaitAsk), string(DenyAsk)),
			Doc: "What happens to a question while nobody is attached: wait, it waits in the inbox; deny, the answer is " +
				"no at once. Default: deny."},
		{Key: "ask_limit", Part: yaml.SomeTime(&s.askLimit),
			Doc: "How long a question may wait in the inbox before the answer is no. Default: 10m."},
		{Key: "complete_on_pass", Part: yaml.Truth(&s.completeOnPass),
			Doc: "Complete the tasks that a teammate has in progress when its turn end passes all gates. " +
				"Default: false, the teammate completes them itself."},
		{Key: "others_tasks", Part: yaml.OneOf(&s.othersTasks, "edit", "read"),
			Doc: "What a teammate may do with a task of another member that is not in progress: edit, change, complete and " +
				"delete it; read, only read it. Default: edit."},
		{Key: "notify", Part: yaml.ListOf(&s.notify, "a list of rules", notifyPart),
			Doc: "Who is told what, where, and after how long."},
		{Key: "web", Part: yaml.Object(nil, s.web.fields()),
			Doc: "How people reach the web page of the team."},
	}
}

// teamwork resolves the keys about how members work together. It runs last, because it
// looks up owners and receivers among the members. It continues after a mistake, so that
// all are reported at once.
func (r *resolver) teamwork(t *Team, s *teamSpec) {
	w := &s.work
	t.Worktree = Worktree{
		Setup: yaml.Words(w.worktree.setup), Include: yaml.Words(w.worktree.include),
		Base: w.worktree.base.V, MaxDisk: w.worktree.maxDisk.V, Ports: int(w.worktree.ports.V),
	}
	for _, command := range w.worktree.setup.Items {
		if command.At.Kind == yaml.TextKind && strings.TrimSpace(command.V) == "" {
			r.Fail(command.At.At, "the command is empty; write one, or remove it")
		}
	}
	r.ref(w.worktree.base, "base")
	r.ref(w.merge.into, "into")
	t.Merge = Merge{
		Into: w.merge.into.V, Via: MergeVia(w.merge.via.Or(string(ViaBranch))),
		Per: MergePer(w.merge.per.Or(string(PerTask))), Given: w.merge.at != nil,
	}
	t.Merge.Gates = (&gateRules{r.Decoder, r.Workspace}).mergeGates(s.gates.merge)
	t.Git = Git{Filters: yaml.Words(w.git.filters)}
	t.Protect = yaml.Words(w.protect)
	t.Sandbox = r.sandbox(&w.sandbox)
	t.Budget = r.budget(t, &w.budget)
	t.Schedules = (&taskRules{r.Decoder}).schedules(t, w.schedules)
	t.OnAsk = OnAsk(w.onAsk.Or(string(DenyAsk)))
	t.AskLimit = w.askLimit.Or(defaultAskLimit)
	t.CompleteOnPass, t.ReadOthersTasks = w.completeOnPass.V, w.othersTasks.V == "read"
	t.Notify, t.Web = noticeRules{r}.notify(w.notify, t.MemberNames()), noticeRules{r}.web(&w.web)
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
