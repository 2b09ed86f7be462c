package merging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// Members are the members of a running team.
type Members interface {
	// Members lists those that have a seat, in the order of the spec.
	Members() []*members.Member
	// StateOf returns the lifecycle state of a member; false if no member has this
	// name.
	StateOf(member string) (members.State, bool)
	// SessionOf finds the member of a session.
	SessionOf(session string) (*members.Member, bool)
}

// Deps are what a Merger needs from its team.
type Deps struct {
	Version string // of this covey
	Place   state.Place
	Store   *tasks.Store
	Journal *state.Journal
	Clock   members.Clock
	Log     *slog.Logger
	Trees   *workcopies.Trees
	Members Members
	Inbox   Inbox
	State   *view.Live // has the hints that were found

	Team    func() *configs.Team // the current spec
	Environ []string             // the environment of gates
	GateEnv func() ([]string, error)
	// Box is runner.Options.Box.
	Box   func(in hooks.Input, gate hooks.Handler, dir string) (*sandbox.Box, []string, error)
	Slots *state.Slots // each gate of a merge takes one
	// Spawned registers the process of a gate of a merge.
	Spawned func(pid int, h runner.Spawn) (ended func())
	// Mask is Queue.Mask.
	Mask func(text string) string
	// Changed is called when merges may have made tasks available.
	Changed func()
	Over    <-chan struct{} // closed when no more work comes
}

// Merger harvests the work that members with their own working copies complete, has it
// merged, and knows what is not merged yet. If the team works in no git repository, it
// does nothing. Create it with New. After Open returns, its methods may be called from
// any goroutine.
type Merger struct {
	deps  Deps
	queue *Queue // its Repo is nil if there is no repository
	book  *Book
	made  *gateFiles
	woken chan struct{}

	stranded chan error // why work that is to be pushed cannot be, in a run that must not wait

	taking sync.Mutex // held while work is harvested

	mu     sync.Mutex
	loose  loose                // what Follow has to look at
	taken  map[string]bool      // ids of completed tasks whose work was harvested
	onWay  map[string]bool      // ids of tasks (or branches) whose work is being merged
	left   map[string]string    // why the work on a task was not harvested, by task id
	fault  error                // why merging stopped in this run
	moved  chan struct{}        // closed and replaced when the state of merges changes
	warned map[string]bool      // warnings already written in this run
	past   map[string]bool      // ids of merges that were over before this run
	moves  []events.TargetMoved // in this run

	lingers bool                // the run waits for trials of tests, and has said so; only Serve uses it
	hinted  map[string][]string // by the id and commit of a merge with hints: the merges that it brings; only Serve uses it
}

// New returns the desk of a team. It does nothing before Open.
func New(o Deps) *Merger {
	d := &Merger{
		deps: o, queue: &Queue{}, woken: make(chan struct{}, 1), stranded: make(chan error, 1),
		taken: map[string]bool{}, left: map[string]string{}, onWay: map[string]bool{}, warned: map[string]bool{},
		past: map[string]bool{}, loose: newLoose(), hinted: map[string][]string{},
		moved: make(chan struct{}),
	}
	d.book = &Book{
		Store: o.Store.Verdicts(), Scripts: o.Place.GateScripts(), Reused: d.reused, Judged: d.judged, Warn: d.warn,
		Sandbox: func(gate hooks.Handler) configs.Sandbox { return o.Team().GateSandbox.With(gate.Sandbox) },
		Made: func(ctx context.Context, c Case, before, after string) {
			if c.Moment == "task" { // what gates of merges make is in nobody's copy
				d.made.appeared(ctx, c.Copy, before, after)
			}
		},
	}
	d.made = &gateFiles{store: o.Store, warn: d.warn, wanted: map[[2]string]bool{}, tell: func(top string, w events.Warning) {
		for member, at := range o.Trees.Tops() {
			if at == top {
				o.Journal.Append(events.Event{Member: member, Data: w})
			}
		}
	}}
	return d
}

// Open restores the state of earlier runs. Call it once, after the working copies were
// opened and before any member starts, so that no unmerged work counts as merged.
func (d *Merger) Open(ctx context.Context) error {
	repo := d.deps.Trees.Repo()
	if repo == nil {
		return nil
	}
	d.queue = queueOf(d.deps.Place, d.deps.Team, repo, d.deps.Store)
	d.queue.Gates = d.runGates
	d.queue.made, d.queue.Receipts = d.made, &receiptWriter{repo: repo, deps: d.deps}
	d.queue.Ask, d.queue.Mask = d.askAll, d.deps.Mask
	d.watch()
	d.queue.Share = d.deps.Trees.Share
	d.queue.Prepare = func(ctx context.Context, top string) error { return d.deps.Trees.Prepare(ctx, "merge", top) }
	if err := d.openElsewhere(ctx); err != nil {
		return err
	}
	return d.loadHarvested(ctx)
}

// watch makes the queue watch its target branches.
func (d *Merger) watch() {
	w := d.queue.Watch
	w.Copies = func() map[string]string { return d.deps.Trees.Tops() }
	w.Identity, w.Shares = d.deps.Trees.Author, func() bool { return d.writtenByOthers("") }
	w.Ask = d.askMove
	w.Withdraw = func(ctx context.Context, id, why string) error {
		defer d.wake()
		return d.deps.Inbox.Withdraw(ctx, id, why)
	}
	w.Tell = func(m events.TargetMoved) {
		d.deps.Journal.Append(events.Event{Member: m.Member, Data: m})
		d.mu.Lock()
		defer d.mu.Unlock()
		d.moves = append(d.moves, m)
	}
}

// look compares the target branches and the operator's checkout with what is known. begins and ends
// are as in Watch.Checkout.
func (d *Merger) look(ctx context.Context, begins, ends bool) error {
	branches, err := d.queue.Watch.Branches(ctx)
	if err != nil {
		return err
	}
	if into, err := d.queue.Target(ctx); err == nil && !slices.Contains(branches, into) {
		branches = append(branches, into) // no target is no reason not to start
	}
	for _, b := range branches {
		if _, _, err := d.queue.counts(ctx, b); err != nil && !errors.Is(err, worktree.ErrNoRef) {
			return fmt.Errorf("look at the target branches: %w", err)
		}
	}
	return d.queue.Watch.Checkout(ctx, begins, ends)
}

// Begin looks at the target branches before members begin to work. It implements crew.Starter.
func (d *Merger) Begin(ctx context.Context) error {
	if d.hasRepo() {
		d.warn(d.look(ctx, true, false))
		d.warn(d.queue.Watch.Begin(ctx))
	}
	return nil
}

// Held looks at the target branches and reports whether one was moved to what a member has made.
func (d *Merger) Held(ctx context.Context) bool {
	if !d.hasRepo() {
		return false
	}
	d.warn(d.look(ctx, false, false))
	held, err := d.queue.Watch.held(ctx)
	d.warn(err)
	return len(held) > 0
}

// hasRepo reports whether the team works in a git repository.
func (d *Merger) hasRepo() bool { return d.queue.Repo != nil }

// loadHarvested reads which work earlier runs harvested.
//
// A task with a known merge counts as harvested only while it is completed: once
// reopened, it produces new work.
func (d *Merger) loadHarvested(ctx context.Context) error {
	if err := d.queue.Recover(ctx); err != nil {
		return fmt.Errorf("recover merges: %w", err)
	}
	merges, err := d.deps.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("the state of merges: %w", err)
	}
	known := map[string]bool{}
	for _, m := range merges {
		d.past[m.ID] = m.State.Over()
		for _, id := range m.Tasks {
			known[id] = true
		}
	}
	all, err := d.deps.Store.List(ctx)
	if err != nil {
		return fmt.Errorf("the state of merges: %w", err)
	}
	for _, t := range all {
		if known[t.ID] && t.Status == tasks.Completed {
			d.taken[t.ID] = true
		}
	}
	return d.updateOnWay(ctx)
}

// Serve merges what comes in until ctx ends, or after Deps.Over until the queue is empty.
// What is being merged when ctx ends waits for the next run.
//
// Merges happen only in this goroutine. If the store fails, merging stops for this run
// and the team goes on: onWay stays empty, so that no member waits for a merge, and
// people are warned once.
func (d *Merger) Serve(ctx context.Context) {
	if !d.hasRepo() {
		return
	}
	for _, m := range d.deps.Members.Members() {
		if s, _ := d.deps.Members.StateOf(m.Name); s.Gone != "" { // the others call HarvestCompleted when they become idle
			d.HarvestCompleted(ctx, m.Name)
		}
	}
	for {
		d.warn(d.settle(ctx))
		d.warn(d.hint(ctx))
		err := d.queue.Work(ctx)
		d.warn(d.deps.Trees.Refresh(ctx))
		if err == nil {
			err = d.updateOnWay(ctx)
		}
		d.warn(d.hint(ctx)) // the merges of other work bring less now
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			d.mu.Lock()
			d.fault = err
			clear(d.onWay) // no member must wait for it
			d.mu.Unlock()
			d.warn(fmt.Errorf("merging stopped for this run: %w", err))
			d.deps.Changed()
			return
		}
		d.deps.Changed()
		d.warn(d.prove(ctx, false))
		select {
		case <-d.woken:
		case <-d.deps.Over:
			d.warn(errors.Join(d.hint(ctx), d.prove(ctx, true))) // in what was harvested last
			return
		case <-ctx.Done():
			return
		}
	}
}

// wake wakes Serve.
func (d *Merger) wake() { members.Signal(d.woken) }

// updateOnWay updates onWay: the tasks whose work is being merged or waits for an
// answer.
func (d *Merger) updateOnWay(ctx context.Context) error {
	merges, err := d.deps.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("read the merges: %w", err)
	}
	if err := d.withdrawMoot(ctx, merges); err != nil {
		return err
	}
	asking := map[string]bool{}
	for _, m := range merges {
		if asking[m.ID], err = d.asking(ctx, m); err != nil {
			return fmt.Errorf("read the merges: %w", err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.onWay)
	// Whoever is woken takes the lock first, and so sees the new state.
	close(d.moved)
	d.moved = make(chan struct{})
	for _, m := range merges {
		if !m.State.Busy() && !asking[m.ID] || d.fault != nil {
			continue
		}
		for _, id := range append(m.Tasks, m.Branch) {
			d.onWay[id] = true
		}
	}
	return nil
}

// OnWay returns the ids of those of some tasks whose work is being merged or is about to
// be: the task is completed, and its owner has not become idle since. Work that belongs
// to no task appears under the name of its branch.
//
// plan holds back tasks whose blockers are among these. Completed work that is not yet
// harvested counts too, or a dependent could start in between. A member that is gone
// produces no more work, so its tasks do not count.
func (d *Merger) OnWay(all []tasks.Task) map[string]bool {
	// Read this before taken: the work of a member that leaves in between is then in
	// taken.
	awaited := map[string]bool{}
	for _, t := range all {
		if _, known := awaited[t.Owner]; !known && t.Status == tasks.Completed {
			awaited[t.Owner] = d.willHarvest(t.Owner)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	way := maps.Clone(d.onWay)
	for _, t := range all {
		switch {
		case t.Status != tasks.Completed:
			delete(d.taken, t.ID) // it was reopened and produces new work
		case !d.taken[t.ID] && awaited[t.Owner] && d.fault == nil:
			way[t.ID] = true
		}
	}
	return way
}

// willHarvest reports whether a member's work will be harvested when it becomes idle.
func (d *Merger) willHarvest(member string) bool {
	if !d.hasCopy(member) {
		return false
	}
	s, ok := d.deps.Members.StateOf(member)
	return ok && s.Gone == ""
}

// HarvestTask harvests the work on a task that has just been completed, before its member
// can start other work.
//
// It is called within the call that completes the task, so the files are those that the
// gates judged. An error is only a warning: the task stays completed.
func (d *Merger) HarvestTask(ctx context.Context, t tasks.Task) {
	d.mu.Lock()
	delete(d.taken, t.ID)
	d.loose.add(t.ID, t.Owner)
	d.mu.Unlock()
	if _, ok := d.deps.Members.StateOf(t.Owner); ok {
		d.warn(d.harvestTasks(ctx, t.Owner, []tasks.Task{t}))
	}
}

// HarvestCompleted harvests the work on tasks that a member completed at a turn end or before a
// crash, and brings what else it has committed to the operator's repository.
func (d *Merger) HarvestCompleted(ctx context.Context, member string) {
	if !d.hasCopy(member) {
		return
	}
	copy, head, err := d.deps.Trees.Copy(ctx, member)
	if err == nil && copy != nil {
		_, err = copy.Publish(ctx, head)
	}
	d.warn(err)
	d.mu.Lock()
	since := d.loose.now
	d.mu.Unlock()
	c, err := d.deps.Store.Changed(ctx, since)
	if err != nil {
		d.warn(err)
		return
	}
	d.mu.Lock()
	d.follow(c)
	ids := d.loose.of(member, d.taken)
	d.mu.Unlock()
	var done []tasks.Task
	for _, id := range ids {
		t, err := d.deps.Store.Task(ctx, id)
		if errors.Is(err, tasks.ErrNotFound) || err == nil && (t.Owner != member || t.Status != tasks.Completed) {
			continue // it was changed meanwhile
		}
		if err != nil {
			d.warn(err)
			return
		}
		done = append(done, t)
	}
	d.warn(d.harvestTasks(ctx, member, done))
}

// harvestTasks harvests the work on tasks as merges.
//
// It holds taking throughout: a member's call and its turn end may come at the same
// time, and the second must see what the first did. An error with one task does not
// stop the others.
func (d *Merger) harvestTasks(ctx context.Context, member string, done []tasks.Task) error {
	d.taking.Lock()
	defer d.taking.Unlock()
	done = slices.DeleteFunc(slices.Clone(done), func(t tasks.Task) bool { return d.harvested(t) })
	if len(done) == 0 {
		return nil
	}
	copy, ok, err := d.copyOf(ctx, member)
	if err != nil || !ok {
		return err
	}
	var errs []error
	for _, t := range done {
		m, err := d.queue.Harvest(ctx, Work{Member: member, Copy: copy, Task: &t}, false)
		if err != nil {
			errs = append(errs, fmt.Errorf("harvest the work of %s on task %s: %w", member, t.ID, err))
		}
		if err != nil && ctx.Err() != nil {
			d.mu.Lock()
			d.left[t.ID] = err.Error() // the next call harvests it
			d.mu.Unlock()
			break
		}
		d.recordHarvest(t, m, err) // also after an error, so that no member waits for this work
		if m == nil && err == nil {
			errs = append(errs, d.unchanged(ctx, t))
		}
	}
	errs = append(errs, d.settle(ctx))
	d.wake()
	d.deps.Changed()
	return errors.Join(errs...)
}

// unchanged records that a task was completed without a change, and journals it once.
func (d *Merger) unchanged(ctx context.Context, t tasks.Task) error {
	marked, err := tasks.MarkUnchanged(ctx, d.deps.Store, t.ID, t.Version)
	if err != nil {
		return fmt.Errorf("record that task %s changed nothing: %w", t.ID, err)
	}
	if marked {
		d.deps.Journal.Append(events.Event{Member: t.Owner, Data: events.TaskUnchanged{Task: t.ID, Subject: t.Subject}})
	}
	return nil
}

// harvested reports whether a task's work was harvested.
func (d *Merger) harvested(t tasks.Task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.taken[t.ID]
}

// recordHarvest records that a task's work was harvested and is on its way, before
// anything can treat it as merged.
func (d *Merger) recordHarvest(t tasks.Task, m *tasks.Merge, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken[t.ID] = true
	delete(d.left, t.ID)
	if err != nil {
		d.left[t.ID] = err.Error()
	}
	if m != nil && m.State.Busy() && d.fault == nil {
		d.onWay[t.ID] = true
	}
}

// reused journals that a gate was not run.
func (d *Merger) reused(v requests.Verdict) {
	d.deps.Journal.Append(events.Event{Member: v.Member, Data: events.VerdictReused{
		Task: v.Subject, Command: v.Command, Tree: v.Tree, Judged: v.Time,
	}})
}

// judged journals the tree that a gate has judged.
func (d *Merger) judged(v requests.Verdict) {
	d.deps.Journal.Append(events.Event{Member: v.Member, Data: events.VerdictFound{
		Task: v.Subject, Command: v.Command, Tree: v.Tree, Moment: v.Moment, Pass: v.Pass,
	}})
}

// warn journals an error that stops nothing, once per text.
func (d *Merger) warn(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	d.mu.Lock()
	said := d.warned[err.Error()]
	d.warned[err.Error()] = true
	d.mu.Unlock()
	if !said {
		d.deps.Journal.Warn("%v", err)
	}
}
