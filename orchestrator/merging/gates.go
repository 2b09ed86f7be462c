package merging

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/teammate"
)

// GateRun implements runner.Options.Gates: it decides how a gate of a member's task
// runs. A member with its own working copy has its gates run there with the scripts of
// its base commit, and a gate that passed certain files does not run again for the same
// files. Gates of a member that works in the workspace run unchanged: others write
// there at the same time, so no verdict would belong to a tree, and its scripts were
// trusted along with the spec.
func (d *Merger) GateRun(ctx context.Context, in hooks.Input, gate hooks.Handler) runner.GateRun {
	m, ok := d.deps.Members.SessionOf(in.SessionID)
	if !ok {
		return runner.GateRun{}
	}
	run, err := d.memberGate(ctx, m, in, gate)
	if err != nil {
		run.Fault = fmt.Sprintf("finding what it judges: %v", err)
	}
	return run
}

// memberGate is GateRun for a known member. A zero GateRun runs the gate as it is. An
// error must not count as a pass: GateRun reports it as Fault.
func (d *Merger) memberGate(ctx context.Context, m *members.Member, in hooks.Input, gate hooks.Handler) (runner.GateRun, error) {
	copy, ok, err := d.copyOf(ctx, m.Name)
	if err != nil || !ok {
		return runner.GateRun{}, err
	}
	c := Case{
		Copy: copy, Trust: d.queue.Repo.Top, Cwd: m.Dir, Moment: "task", Member: m.Name,
		Index: filepath.Join(d.deps.Place.Scratch(), m.Name+".index"),
	}
	if done, ok := in.Payload.(hooks.TaskCompletedInput); ok {
		c.Subject, c.Input = done.TaskID, askedAbout(done.TaskInput)
	}
	if c.Base, err = d.base(ctx, copy); err != nil {
		return runner.GateRun{}, fmt.Errorf("read the working copy: %w", err)
	}
	run := d.book.Plan(ctx, c, gate)
	run.Final = true // the book has replaced its scripts
	return run, nil
}

// askedAbout returns what a gate reads about a task on stdin, without the caller.
// Verdicts are not reused when it changes.
func askedAbout(t hooks.TaskInput) string {
	data, err := json.Marshal([]any{t.TaskSubject, t.TaskDescription, t.Evidence})
	if err != nil {
		return ""
	}
	return string(data)
}

// base returns the base commit of the work in a copy.
func (d *Merger) base(ctx context.Context, copy *worktree.Repo) (string, error) {
	into, tip, err := d.queue.tip(ctx)
	if err != nil {
		return "", err
	}
	base, err := copy.MergeBase(ctx, tip, "HEAD")
	if err == nil && base == "" {
		err = fmt.Errorf("%s and %s have no commit in common", copy.Top, into)
	}
	return base, err
}

// OutsideOf lists the files that a member changed, committed or not, outside of what it
// owns, and the branch that its work is for. It lists none for a member without its own
// working copy.
func (d *Merger) OutsideOf(ctx context.Context, m *members.Member) (files []string, into string, err error) {
	copy, ok, err := d.copyOf(ctx, m.Name)
	if err != nil || !ok {
		return nil, "", err
	}
	base, err := d.base(ctx, copy)
	if err != nil {
		return nil, "", err
	}
	state, err := copy.State(ctx, "")
	if err != nil {
		return nil, "", err
	}
	written, err := d.queue.Written(ctx, copy, m.Name, base, state.Tree)
	if err != nil {
		return nil, "", err
	}
	into, err = d.queue.Target(ctx)
	return writes.Outside(m.Owns, written), into, err
}

// handlersFor returns the gates of merged work: the merge gates but approvals, which are asked for
// before, and the task gates that are commands.
//
// Prompts, agents and approvals among the task gates are left out: they have judged the
// work already, and merging does not change it. A command that is listed twice runs
// once.
func handlersFor(team *configs.Team) []hooks.Handler {
	var all []hooks.Handler
	add := func(h hooks.Handler) {
		same := func(o hooks.Handler) bool {
			return o.Command == h.Command && slices.Equal(o.Args, h.Args) && reflect.DeepEqual(o.Sandbox, h.Sandbox)
		}
		if h.Type == "command" && !slices.ContainsFunc(all, same) {
			all = append(all, h)
		}
	}
	for _, group := range team.Gates[hooks.TaskCompleted] {
		for _, h := range group.Hooks {
			add(h)
		}
	}
	for _, h := range team.Merge.Gates {
		if configs.HintsOf(h.Policy) != nil {
			all = append(all, h)
		}
		add(h)
	}
	return all
}

// runGates implements Queue.Gates. Gates whose hints only trials of tests find come last, because what other gates
// refuse is not worth trials, which take the working copy besides.
func (d *Merger) runGates(ctx context.Context, t Trial) (refusal string, err error) {
	team := d.deps.Team()
	var first, last []hooks.Handler
	for _, h := range handlersFor(team) {
		if byTrial(configs.HintsOf(h.Policy)) {
			last = append(last, h)
		} else {
			first = append(first, h)
		}
	}
	if t.Forced {
		return "", nil
	}
	if refusal, err = d.runSome(ctx, t, first); refusal != "" || err != nil || len(last) == 0 {
		return refusal, err
	}
	if err := d.proveOne(ctx, t.Merge, team.Tests, true); err != nil {
		return "", fmt.Errorf("run tests on parts of the work: %w", err)
	}
	return d.runSome(ctx, t, last)
}

// byTrial reports whether kinds of hints have one that only trials of tests find.
func byTrial(kinds []string) bool {
	return slices.ContainsFunc(hints.ByTrial(), func(kind string) bool { return slices.Contains(kinds, kind) })
}

// runSome runs some gates.
func (d *Merger) runSome(ctx context.Context, t Trial, handlers []hooks.Handler) (refusal string, err error) {
	if len(handlers) == 0 {
		return "", nil
	}
	about, err := d.about(ctx, t)
	if err != nil {
		return "", fmt.Errorf("run the gates: %w", err)
	}
	runner, err := d.runner(t, handlers, askedAbout(about))
	if err != nil {
		return "", fmt.Errorf("run the gates: %w", err)
	}
	out, err := runner.Run(ctx, d.gateInput(t, about), teammate.Announced(hooks.TaskCompletedInput{}, t.ID, func(a events.GateAsked) { d.deps.Journal.Tell(a) }, func(p hooks.Progress) { d.deps.Journal.Tell(teammate.HookEvent(p)) }))
	if err != nil || out.Decision == hooks.Pass {
		return "", err
	}
	if len(out.Feedback) == 0 {
		return "a gate stopped the merge: " + out.StopReason, nil
	}
	return strings.Join(out.Feedback, "\n"), nil
}

// gateInput returns the input of the gates of a merged state.
func (d *Merger) gateInput(t Trial, about hooks.TaskInput) hooks.Input {
	return hooks.Input{
		Common: hooks.Common{
			SessionID: "merge-" + t.ID, Cwd: filepath.Join(t.Copy.Top, filepath.FromSlash(d.queue.Repo.Prefix)),
		},
		Payload: hooks.TaskCompletedInput{TaskInput: about},
	}
}

// about returns what merge gates read on stdin. It describes the task of the work, so
// that a gate written for tasks works for merges too.
func (d *Merger) about(ctx context.Context, t Trial) (hooks.TaskInput, error) {
	about := hooks.TaskInput{
		TaskID: t.Subject(), TaskSubject: t.Title, TeammateName: t.Member, TeamName: d.deps.Team().Name,
	}
	if len(t.Tasks) == 1 {
		task, err := d.deps.Store.Task(ctx, t.Tasks[0])
		if err != nil {
			return about, fmt.Errorf("the task of %s: %w", t.Branch, err)
		}
		about.TaskSubject, about.TaskDescription = task.Subject, task.Description
		about.Evidence = teammate.EvidenceOf(task.Evidence)
	}
	return about, nil
}

// runner returns a runner for the gates of one merged state.
//
// Each merge needs its own, because the environment names the branch. The gate
// processes are registered as hooks, so that they are killed when the team ends, or at
// the next start if covey itself was killed.
func (d *Merger) runner(t Trial, gates []hooks.Handler, told string) (*runner.Runner, error) {
	section := hooks.Settings{hooks.TaskCompleted: {{Hooks: gates}}}
	// The index is another one than that of a member, because merges are tested while gates
	// of members run.
	c := Case{
		Copy: t.Copy, Base: t.Base, Trust: d.queue.Repo.Top, Subject: t.Subject(), Input: told,
		Moment: "merge", Member: t.Member, Index: filepath.Join(d.deps.Place.Scratch(), "merge.index"),
	}
	if t.Part {
		c.Subject = ""
	}
	return runner.New([]settings.Source{{Name: "gates of merges", Settings: section}}, &runner.Options{
		Env: append(slices.Clone(d.deps.Environ),
			"COVEY_MERGE_BRANCH="+t.Branch, "COVEY_MERGE_INTO="+t.Into, "COVEY_MERGE_BASE="+t.Base),
		Policies:   func(name string) runner.Policy { return d.queue.hintsGate(t.Merge, configs.HintsOf(name)) },
		ProjectDir: d.deps.Team().Workspace, SpillDir: d.deps.Place.Scratch(),
		Gates: func(ctx context.Context, in hooks.Input, gate hooks.Handler) runner.GateRun {
			here := c
			here.Cwd = in.Cwd
			return d.book.Plan(ctx, here, gate)
		},
		GateEnv: func(in hooks.Input) ([]string, error) {
			env, err := d.deps.GateEnv()
			if err != nil {
				return nil, err
			}
			ports, err := d.deps.Trees.TakePorts(in.Cwd)
			return slices.Concat(env, ports), err
		},
		GateSlot: func(ctx context.Context, _ hooks.Input) (func(), error) {
			if t.Part { // nobody waits for a trial
				return d.deps.Slots.Acquire(ctx, "")
			}
			return d.deps.Slots.Acquire(ctx, t.Member)
		},
		Spawned: d.deps.Spawned,
		Box:     d.deps.Box,
	})
}
