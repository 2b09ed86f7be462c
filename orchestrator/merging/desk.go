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
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/verdicts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Members are the members of a running team.
type Members interface {
	// All lists the members that have a seat, in the order of the spec.
	All() []*roster.Member
	// StateOf returns the state of a member's life in its seat; false if no member has
	// this name.
	StateOf(member string) (lives.State, bool)
}

// Tallies count how often gates ran, and how they ended.
type Tallies interface {
	Add(where string, end hooklist.End)
}

// Options are what a Desk needs of the team that it belongs to.
type Options struct {
	Place   state.Place
	Store   *tasks.Store
	Journal *journal.Journal
	Clock   routine.Clock
	Log     *slog.Logger
	Trees   *trees.Trees
	Members Members
	Inbox   Inbox
	Tallies Tallies

	Team    func() *configs.Team // the team's spec as it is now
	Environ []string             // of gates
	GateEnv func() ([]string, error)
	// Spawned registers the process of a gate of a merge.
	Spawned func(pid int, h runner.Spawn) (ended func())
	// SessionOf finds the member of a session.
	SessionOf func(session string) (*roster.Member, bool)
	// Landing is Queue.Landing.
	Landing func() (landed func())
	// Notify tells people of a question that waits for them.
	Notify func(ctx context.Context, member string, r requests.Request)
	// Changed is called when merges have changed what the team can do next.
	Changed func()
}

// Desk takes down the work that members with working copies of their own finish, has
// it merged, and knows what is not merged yet. A desk of a team that works in no git
// repository has nothing to do. Make it with New. Its methods may be called from any
// goroutine once Open has returned.
type Desk struct {
	opts  Options
	queue *Queue // its Repo is nil if there is no repository
	book  *Book
	poked chan struct{}
	over  chan struct{} // closed when no more work comes

	taking sync.Mutex // held while work is taken down

	mu     sync.Mutex
	taken  map[string]bool   // completed tasks whose work has been taken down, by id
	onWay  map[string]bool   // ids of tasks whose work is being merged
	left   map[string]string // why the work on a task was not taken down, by its id
	fault  error             // why nothing is merged any more
	moved  chan struct{}     // closed and replaced when the state of merges changes
	warned map[string]bool   // warnings that were given in this run
}

// New makes the desk of a team. It does nothing before Open.
func New(o Options) *Desk {
	d := &Desk{
		opts: o, queue: &Queue{}, poked: make(chan struct{}, 1), over: make(chan struct{}),
		taken: map[string]bool{}, left: map[string]string{}, onWay: map[string]bool{}, warned: map[string]bool{},
		moved: make(chan struct{}),
	}
	d.book = &Book{Store: o.Store.Verdicts(), Scripts: o.Place.GateScripts(), Reused: d.reused, Warn: d.warn}
	return d
}

// Open reads what an earlier run has left. It is called once, after the working copies
// were opened and before any member begins, so that nobody who waits for merged work
// takes it for merged.
func (d *Desk) Open(ctx context.Context) error {
	repo := d.opts.Trees.Repo()
	if repo == nil {
		return nil
	}
	d.queue = queueOf(d.opts.Place, d.opts.Team, repo, d.opts.Store)
	d.queue.Gates, d.queue.Landing = trialGates{d.opts, d.book, repo}.ask, d.opts.Landing
	d.queue.Ask = approvals{d.opts}.ask
	d.queue.Prepare = func(ctx context.Context, top string) error { return d.opts.Trees.Prepare(ctx, "merge", top) }
	return d.recall(ctx)
}

// hasRepo reports whether the team works in a git repository.
func (d *Desk) hasRepo() bool { return d.queue.Repo != nil }

// recall reads which work was taken down in earlier runs.
//
// A task whose merge is known counts as taken only while it is completed: when it is
// opened again, it brings other work.
func (d *Desk) recall(ctx context.Context) error {
	if err := d.queue.Recover(ctx); err != nil {
		return fmt.Errorf("recover merges: %w", err)
	}
	merges, err := d.opts.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("the state of merges: %w", err)
	}
	all, err := d.opts.Store.List(ctx)
	if err != nil {
		return fmt.Errorf("the state of merges: %w", err)
	}
	for _, t := range all {
		known := slices.ContainsFunc(merges, func(m tasks.Merge) bool { return slices.Contains(m.Tasks, t.ID) })
		if known && t.Status == tasks.Completed {
			d.taken[t.ID] = true
		}
	}
	return d.look(ctx)
}

// Serve merges what comes in until ctx ends, or after Close until nothing is left to
// do. What is being merged when ctx ends waits for the next run.
//
// It is the one goroutine in which merges happen. When the store fails, merging ends for
// this run and the team goes on: onWay is empty from then on, so that no member waits for
// merged work, and people are warned once.
func (d *Desk) Serve(ctx context.Context) {
	if !d.hasRepo() {
		return
	}
	for _, m := range d.opts.Members.All() {
		if s, _ := d.opts.Members.StateOf(m.Name); s.Gone != "" { // the others do this when they come to rest
			d.Settle(ctx, m.Name)
		}
	}
	for {
		err := d.queue.Work(ctx)
		if err == nil {
			err = d.look(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			d.mu.Lock()
			d.fault = err
			clear(d.onWay) // nobody is to wait for it
			d.mu.Unlock()
			d.warn(fmt.Errorf("nothing is merged any more in this run: %w", err))
			d.opts.Changed()
			return
		}
		d.opts.Changed()
		select {
		case <-d.poked:
		case <-d.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close ends Serve once it has nothing to do.
func (d *Desk) Close() { close(d.over) }

// poke has Serve look at the queue.
func (d *Desk) poke() { routine.Signal(d.poked) }

// look finds out which tasks' work is on its way: it is being merged, or waits for an
// answer.
func (d *Desk) look(ctx context.Context) error {
	merges, err := d.opts.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("look at merges: %w", err)
	}
	asking := map[string]bool{}
	for _, m := range merges {
		if asking[m.ID], err = d.asking(ctx, m); err != nil {
			return fmt.Errorf("look at merges: %w", err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.onWay)
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

// OnWay returns the ids of those of all tasks whose work is on its way into its branch,
// or about to be: the task is completed, and its owner has not come to rest since. Work
// that belongs to no task is there under the name of its branch.
//
// plan holds back tasks whose blockers are among these. Work that is completed and not
// yet taken down counts too, or a dependent could begin in the moment between both. A
// member that is gone brings no more work, so nobody waits for it.
func (d *Desk) OnWay(all []tasks.Task) map[string]bool {
	// Before taken is read: a member that goes in between has had its work taken down.
	awaited := map[string]bool{}
	for _, t := range all {
		if _, known := awaited[t.Owner]; !known && t.Status == tasks.Completed {
			awaited[t.Owner] = d.brings(t.Owner)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	way := maps.Clone(d.onWay)
	for _, t := range all {
		switch {
		case t.Status != tasks.Completed:
			delete(d.taken, t.ID) // it was opened again, and will be done anew
		case !d.taken[t.ID] && awaited[t.Owner] && d.fault == nil:
			way[t.ID] = true
		}
	}
	return way
}

// brings reports whether a member's work is taken down when it comes to rest.
func (d *Desk) brings(member string) bool {
	if d.branchOf(member) == "" {
		return false
	}
	s, ok := d.opts.Members.StateOf(member)
	return ok && s.Gone == ""
}

// Finished takes down the work on a task that has just been completed, before its
// member can begin with something else.
//
// It is called within the call that completes the task, so the files are as the gates
// saw them. An error is a warning: the task is completed all the same.
func (d *Desk) Finished(ctx context.Context, t tasks.Task) {
	d.mu.Lock()
	delete(d.taken, t.ID)
	d.mu.Unlock()
	if _, ok := d.opts.Members.StateOf(t.Owner); ok {
		d.warn(d.take(ctx, t.Owner, []tasks.Task{t}))
	}
}

// Settle takes down the work on tasks that a member has completed and that is not taken
// down yet: they were completed at a turn end, or before a crash.
func (d *Desk) Settle(ctx context.Context, member string) {
	if d.branchOf(member) == "" {
		return
	}
	all, err := d.opts.Store.List(ctx)
	if err != nil {
		d.warn(err)
		return
	}
	var done []tasks.Task
	for _, t := range all {
		if t.Owner == member && t.Status == tasks.Completed {
			done = append(done, t)
		}
	}
	d.warn(d.take(ctx, member, done))
}

// take makes merges of the work on tasks.
//
// taking is held all the while: a member's call and its turn end may come here at once,
// and the second must find what the first has done. An error with one task does not
// keep the others from being taken.
func (d *Desk) take(ctx context.Context, member string, done []tasks.Task) error {
	d.taking.Lock()
	defer d.taking.Unlock()
	done = slices.DeleteFunc(slices.Clone(done), func(t tasks.Task) bool { return d.knows(t) })
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
			errs = append(errs, fmt.Errorf("the work of %s on task %s is not taken down: %w", member, t.ID, err))
		}
		if err != nil && ctx.Err() != nil {
			d.mu.Lock()
			d.left[t.ID] = err.Error() // the next who looks takes it down
			d.mu.Unlock()
			break
		}
		d.note(t, m, err) // also after an error: nobody is to wait for what does not come
		if m == nil && err == nil {
			errs = append(errs, d.unchanged(ctx, t))
		}
	}
	d.poke()
	d.opts.Changed()
	return errors.Join(errs...)
}

// knows reports whether a task's work has been taken down.
func (d *Desk) knows(t tasks.Task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.taken[t.ID]
}

// note records what was taken down, and that it is on its way, before anybody can
// take the task's work for merged.
func (d *Desk) note(t tasks.Task, m *tasks.Merge, err error) {
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

// reused writes into the journal that a gate was not run.
func (d *Desk) reused(v verdicts.Verdict) {
	d.opts.Journal.Append(agent.Event{Member: v.Member, Data: VerdictReused{
		Task: v.Subject, Command: v.Command, Tree: v.Tree, Judged: v.Time,
	}})
}

// warn writes an error that ends nothing into the journal, each text once.
func (d *Desk) warn(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	d.mu.Lock()
	said := d.warned[err.Error()]
	d.warned[err.Error()] = true
	d.mu.Unlock()
	if !said {
		d.opts.Journal.Tell(agent.Warning{Text: err.Error()})
	}
}
