package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// gateRun says how a gate of a member is run (runner.Options.Gates): in a working copy
// of the member's own with the scripts of the commit that its work began from, and
// not again for files of which it has said yes. Who works in the workspace itself
// has its gates run there as they are: others write there meanwhile, so that no
// verdict would belong to a tree, and its files are what the spec was trusted with.
func (d *mergeDesk) gateRun(ctx context.Context, in hooks.Input, gate hooks.Handler) runner.GateRun {
	if d == nil {
		return runner.GateRun{}
	}
	s, ok := d.c.bySession(in.SessionID)
	if !ok {
		return runner.GateRun{}
	}
	run, err := d.memberGate(ctx, s, in, gate)
	if err != nil {
		run.Fault = fmt.Sprintf("what it is to look at is not known: %v", err)
	}
	return run
}

// memberGate is gateRun for a member that is known.
//
// ok of copyOf is false for who works in the workspace; then the zero GateRun has the
// gate run as it is. A fault is never taken for a yes: gateRun hands it on as Fault.
func (d *mergeDesk) memberGate(
	ctx context.Context, s *seat, in hooks.Input, gate hooks.Handler,
) (runner.GateRun, error) {
	copy, ok, err := d.copyOf(ctx, s)
	if err != nil || !ok {
		return runner.GateRun{}, err
	}
	c := merging.Case{
		Copy: copy, Trust: d.queue.Repo.Top, Cwd: in.Cwd, Moment: "task", Member: s.member.Name,
		Index: filepath.Join(d.o.place.Scratch(), s.member.Name+".index"),
	}
	if done, ok := in.Payload.(hooks.TaskCompletedInput); ok {
		c.Subject, c.Told = done.TaskID, askedAbout(done.TaskInput)
	}
	if c.Base, err = d.base(ctx, copy); err != nil {
		return runner.GateRun{}, fmt.Errorf("look at the copy: %w", err)
	}
	run := d.book.Sitting(ctx, c, gate)
	run.Settled = true // the book has seen to its scripts
	return run, nil
}

// askedAbout is what a gate hears of a task on its stdin, apart from who asks: another text
// is another question.
func askedAbout(t hooks.TaskInput) string {
	data, err := json.Marshal([]any{t.TaskSubject, t.TaskDescription, t.Evidence})
	if err != nil {
		return ""
	}
	return string(data)
}

// base is the commit that the work in a copy began from.
func (d *mergeDesk) base(ctx context.Context, copy *worktree.Repo) (string, error) {
	into, err := d.queue.Target(ctx)
	if err != nil {
		return "", err
	}
	base, err := copy.MergeBase(ctx, "refs/heads/"+into, "HEAD")
	if err == nil && base == "" {
		err = fmt.Errorf("%s and %s have no commit in common", copy.Top, into)
	}
	return base, err
}

// outsideOf lists the files outside of what a member owns in which its branch, or what it
// has not committed, differs from the branch that its work is for.
func outsideOf(ctx context.Context, d *mergeDesk, member *roster.Member) (files []string, into string, err error) {
	if d == nil {
		return nil, "", nil
	}
	s, ok := d.c.seat(member.Name)
	if !ok {
		return nil, "", nil
	}
	copy, ok, err := d.copyOf(ctx, s)
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
	written, err := d.queue.Written(ctx, member.Name, base, state.Tree)
	if err != nil {
		return nil, "", err
	}
	into, err = d.queue.Target(ctx)
	return owned.Outside(member.Owns, written), into, err
}

// mergeHandlers are the gates of merged work: those of merges, and those of tasks
// that are commands, since nothing is merged that they have not seen as it stands.
//
// Prompts, agents and approvals among the gates of tasks are left out: they have judged
// the work, and a merge that changes none of it is no new question for them. The same
// command twice is asked once.
func (d *mergeDesk) mergeHandlers() []hooks.Handler {
	var all []hooks.Handler
	add := func(h hooks.Handler) {
		same := func(o hooks.Handler) bool { return o.Command == h.Command && slices.Equal(o.Args, h.Args) }
		if h.Type == "command" && !slices.ContainsFunc(all, same) {
			all = append(all, h)
		}
	}
	team := d.o.team()
	for _, group := range team.Gates[hooks.TaskCompleted] {
		for _, h := range group.Hooks {
			add(h)
		}
	}
	for _, h := range team.Merge.Gates {
		add(h)
	}
	return all
}

// gates asks the gates about merged work.
func (d *mergeDesk) gates(ctx context.Context, t merging.Trial) (refusal string, err error) {
	handlers := d.mergeHandlers()
	if len(handlers) == 0 {
		return "", nil
	}
	in, err := d.mergeInput(ctx, t)
	if err != nil {
		return "", fmt.Errorf("ask the gates: %w", err)
	}
	runner, err := d.mergeRunner(t, handlers, askedAbout(in.Payload.(hooks.TaskCompletedInput).TaskInput))
	if err != nil {
		return "", fmt.Errorf("ask the gates: %w", err)
	}
	out, err := runner.Run(ctx, in, d.observe)
	if err != nil || out.Decision == hooks.Pass {
		return "", err
	}
	if len(out.Feedback) == 0 {
		return "a gate stopped the merge: " + out.StopReason, nil
	}
	return strings.Join(out.Feedback, "\n"), nil
}

// mergeInput is what gates of a merge get on stdin: that of the task whose work it
// is, so that a gate of tasks serves for both.
func (d *mergeDesk) mergeInput(ctx context.Context, t merging.Trial) (hooks.Input, error) {
	in := hooks.Input{Common: hooks.Common{
		SessionID: "merge-" + t.ID, Cwd: filepath.Join(t.Copy.Top, filepath.FromSlash(d.queue.Repo.Prefix)),
	}}
	about := hooks.TaskInput{
		TaskID: t.Subject(), TaskSubject: t.Title, TeammateName: t.Member, TeamName: d.o.team().Name,
	}
	if len(t.Tasks) == 1 {
		task, err := d.c.store.Task(ctx, t.Tasks[0])
		if err != nil {
			return in, fmt.Errorf("the task of %s: %w", t.Branch, err)
		}
		about.TaskSubject, about.TaskDescription = task.Subject, task.Description
		about.Evidence = teammate.EvidenceOf(task.Evidence)
	}
	in.Payload = hooks.TaskCompletedInput{TaskInput: about}
	return in, nil
}

// mergeRunner runs gates on a merged state.
//
// A runner is made for each merge, because the variables of its environment name the
// branch. The gates' processes are registered as hooks, by which they are killed at the
// end of the team, or at the next start if covey itself was killed.
func (d *mergeDesk) mergeRunner(t merging.Trial, gates []hooks.Handler, told string) (*runner.Runner, error) {
	section := hooks.Settings{hooks.TaskCompleted: {{Hooks: gates}}}
	c := merging.Case{
		Copy: t.Copy, Base: t.Base, Trust: d.queue.Repo.Top, Subject: t.Subject(), Told: told,
		Moment: "merge", Member: t.Member, Index: filepath.Join(d.o.place.Scratch(), "merge.index"),
	}
	return runner.New([]settings.Source{{Name: "gates of merges", Settings: section}}, &runner.Options{
		Env: append(launch.ChildEnvironment(d.o.opts.Bin, d.o.place),
			"COVEY_MERGE_BRANCH="+t.Branch, "COVEY_MERGE_INTO="+t.Into, "COVEY_MERGE_BASE="+t.Base),
		ProjectDir: d.o.team().Workspace, SpillDir: d.o.place.Scratch(),
		Gates: func(ctx context.Context, in hooks.Input, gate hooks.Handler) runner.GateRun {
			here := c
			here.Cwd = in.Cwd
			return d.book.Sitting(ctx, here, gate)
		},
		GateEnv: d.c.settings.Environ,
		Spawned: func(pid int, h runner.Spawn) func() {
			return d.c.processes.RegisterHook(pid, process.Owner{Kind: process.Hook}, hookRun(h.Input, h.Depth))
		},
	})
}

// observe tells the journal of gates of merges as of any hook.
func (d *mergeDesk) observe(p hooks.Progress) {
	if p.Result == nil {
		d.c.journal.Tell(agent.HookStarted{Event: string(p.Event), ToolUseID: p.ToolUseID, Command: p.Command})
		return
	}
	finished := agent.HookFinished{
		Event: string(p.Event), ToolUseID: p.ToolUseID, Command: p.Command, Outcome: string(p.Result.Outcome),
		ExitCode: p.Result.ExitCode, DurationMS: p.Result.Duration.Milliseconds(),
		Stdout: p.Result.Stdout, Stderr: p.Result.Stderr, Warning: p.Result.Warning,
	}
	end := hooklist.EndOf(finished)
	end.Event = hooklist.AtMerge
	d.c.live.Tallies.Add(hooklist.AtMerge, end)
	d.c.journal.Tell(finished)
}
