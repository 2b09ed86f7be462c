package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/gang"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/verdicts"
	"github.com/coveyteam/covey/teammate/agent"
)

// mergeDesk is where finished work comes in: it takes down what members with
// working copies of their own have made, has it merged, and knows what is on its
// way. A nil desk, of a team that works in no git repository, does nothing.
type mergeDesk struct {
	c     *crew
	o     *Orchestrator
	queue *merging.Queue
	book  *merging.Book
	poked chan struct{}
	over  chan struct{} // closed when nobody brings work any more

	taking sync.Mutex // one piece of work is taken down at a time

	mu     sync.Mutex
	taken  map[string]bool   // completed tasks whose work has been taken down, by id
	onWay  map[string]bool   // ids of tasks whose work is being merged
	left   map[string]string // why the work on a task was not taken down, by its id
	fault  error             // why nothing is merged any more
	moved  chan struct{}     // closed and replaced when merges have got on
	warned map[string]bool   // what has been said in this run
}

// openMerges makes the desk of a team whose members can have working copies.
//
// It is called after the working copies were opened and before anybody begins. All that
// an earlier run has left is read here, so that nobody who waits for merged work finds
// it done too early.
func (o *Orchestrator) openMerges(ctx context.Context, c *crew) error {
	if c.trees.Repo() == nil {
		return nil
	}
	d := &mergeDesk{
		c: c, o: o, poked: make(chan struct{}, 1), over: make(chan struct{}),
		taken: map[string]bool{}, left: map[string]string{}, onWay: map[string]bool{}, warned: map[string]bool{},
		moved: make(chan struct{}),
	}
	d.queue = mergeQueue(o.place, o.team, c.trees.Repo(), c.store)
	d.queue.Gates, d.queue.Ask, d.queue.Landing = d.gates, d.ask, c.writes.Landing
	d.queue.Prepare = func(ctx context.Context, top string) error { return c.trees.Prepare(ctx, "merge", top) }
	d.book = &merging.Book{Store: c.store.Verdicts(), Scripts: o.place.GateScripts(), Reused: d.reused, Warn: d.warn}
	if err := d.recall(ctx); err != nil {
		return err
	}
	c.merges, c.board.finished = d, d.finished
	return nil
}

// gateRun is runner.Options.Gates.
func (c *crew) gateRun(ctx context.Context, in hooks.Input, gate hooks.Handler) runner.GateRun {
	return c.merges.gateRun(ctx, in, gate)
}

// mergeQueue is the queue of a team, without anybody who answers for gates.
func mergeQueue(p state.Place, team func() *configs.Team, repo *worktree.Repo, store *tasks.Store) *merging.Queue {
	dir, err := filepath.EvalSymlinks(p.Dir) // git lists its copies by their real paths
	if err != nil {
		dir = p.Dir
	}
	return &merging.Queue{
		Spec: func() merging.Rules { return mergeRules(team()) }, Repo: repo, Store: store,
		Scratch: filepath.Join(dir, "merge"), Papers: p.Pulls(),
	}
}

// mergeRules are what a spec says about merging.
//
// It is asked anew each time, for the spec of a running team can change. A member
// without Owns has no entry and may write everything; an empty list allows nothing.
func mergeRules(team *configs.Team) merging.Rules {
	r := merging.Rules{
		Into: team.Merge.Into, Pull: team.Merge.Via == configs.ViaPR,
		PerMember: team.Merge.Per == configs.PerMember, Auto: team.Merge.Given,
		Owns: map[string][]string{}, Protect: team.Protect,
	}
	for _, m := range team.Members() {
		r.Members = append(r.Members, m.Name)
		if m.Owns != nil {
			r.Owns[m.Name] = m.Owns
		}
	}
	for _, h := range team.Merge.Gates {
		r.Approve = r.Approve || h.Approver != ""
	}
	return r
}

// recall reads which work has been taken down in earlier runs.
//
// A task whose merge is known counts as taken only while it is completed: one that was
// opened again will bring other work.
func (d *mergeDesk) recall(ctx context.Context) error {
	if err := d.queue.Recover(ctx); err != nil {
		return fmt.Errorf("recover merges: %w", err)
	}
	merges, err := d.c.store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("the state of merges: %w", err)
	}
	all, err := d.c.store.List(ctx)
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

// serve merges what comes in until the team ends. What is being merged then waits
// for the next run.
//
// It is the one goroutine in which merges happen. When the store fails, merging ends for
// this run and the team goes on: members that wait for merged work are let go, since
// onWay is empty from then on, and people are warned once.
func (d *mergeDesk) serve(ctx context.Context) {
	if d == nil {
		return
	}
	for _, s := range d.c.seats() {
		if s.life.State().Gone != "" { // the others do this when they come to rest
			d.settle(ctx, s)
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
			d.c.loop.Poke()
			return
		}
		d.c.loop.Poke()
		select {
		case <-d.poked:
		case <-d.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// close ends serve once it has nothing to do.
func (d *mergeDesk) close() {
	if d != nil {
		close(d.over)
	}
}

// poke has the desk look at the queue.
func (d *mergeDesk) poke() {
	if d != nil {
		gang.Signal(d.poked)
	}
}

// look finds out which tasks' work is on its way: what is merged by itself, and what
// waits for an answer.
func (d *mergeDesk) look(ctx context.Context) error {
	merges, err := d.c.store.Merges().List(ctx)
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

// merging are those of all tasks whose work is on its way into its branch, or about
// to be: it is completed, and its owner has not come to rest since. Work that belongs
// to no task is there under its branch's name.
//
// plan holds back tasks whose blockers are among these. Work that is completed and not
// yet taken counts too, or a dependent could begin in the moment between both. A member
// that is gone brings nothing any more, so nobody waits for it.
func (d *mergeDesk) merging(all []tasks.Task) map[string]bool {
	if d == nil {
		return nil
	}
	awaited := map[string]bool{} // members whose work is taken down when they rest
	for _, s := range d.c.seats() {
		awaited[s.member.Name] = d.branchOf(s) != "" && s.life.State().Gone == ""
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

// finished takes down the work on a task that has just been completed, before its
// member can begin with something else.
//
// The board calls it in the call that completes the task, so the files are as the
// gates saw them. An error is a warning: the task is completed all the same.
func (d *mergeDesk) finished(ctx context.Context, t tasks.Task) {
	if d == nil || t.Owner == "" {
		return
	}
	d.mu.Lock()
	delete(d.taken, t.ID)
	d.mu.Unlock()
	if s, ok := d.c.seat(t.Owner); ok {
		d.warn(d.take(ctx, s, []tasks.Task{t}))
	}
}

// settle takes down what a member has completed and nobody has seen yet: completed
// at a turn end, or before a crash.
func (d *mergeDesk) settle(ctx context.Context, s *seat) {
	if d == nil {
		return
	}
	all, err := d.c.store.List(ctx)
	if err != nil {
		d.warn(err)
		return
	}
	var done []tasks.Task
	for _, t := range all {
		if t.Owner == s.member.Name && t.Status == tasks.Completed {
			done = append(done, t)
		}
	}
	d.warn(d.take(ctx, s, done))
}

// take makes merges of the work on tasks.
//
// taking is held all the while: the desk's caller may be the member's call and its turn
// end at once, and the second must find that the first has done it. An error with one
// task does not keep the others from being taken.
func (d *mergeDesk) take(ctx context.Context, s *seat, done []tasks.Task) error {
	d.taking.Lock()
	defer d.taking.Unlock()
	done = slices.DeleteFunc(slices.Clone(done), func(t tasks.Task) bool { return d.knows(t) })
	if len(done) == 0 {
		return nil
	}
	copy, ok, err := d.copyOf(ctx, s)
	if err != nil || !ok {
		return err
	}
	var errs []error
	for _, t := range done {
		m, err := d.queue.Harvest(ctx, merging.Work{Member: s.member.Name, Copy: copy, Task: &t}, false)
		if err != nil {
			errs = append(errs, fmt.Errorf("the work of %s on task %s is not taken down: %w", s.member.Name,
				t.ID, err))
		}
		d.note(t, m, err) // also after an error: nobody is to wait for what does not come
		if m == nil && err == nil {
			errs = append(errs, d.unchanged(ctx, t))
		}
	}
	d.poke()
	d.c.loop.Poke()
	return errors.Join(errs...)
}

// knows reports whether a task's work has been taken down.
func (d *mergeDesk) knows(t tasks.Task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.taken[t.ID]
}

// note remembers what was taken down, and that it is on its way before anybody can
// think that all is done.
func (d *mergeDesk) note(t tasks.Task, m *tasks.Merge, err error) {
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

// reused tells that a gate was not run.
func (d *mergeDesk) reused(v verdicts.Verdict) {
	d.c.journal.Append(agent.Event{Member: v.Member, Data: VerdictReused{
		Task: v.Subject, Command: v.Command, Tree: v.Tree, Judged: v.Time,
	}})
}

// warn tells the journal of trouble that ends nothing, and of the same once.
func (d *mergeDesk) warn(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	d.mu.Lock()
	said := d.warned[err.Error()]
	d.warned[err.Error()] = true
	d.mu.Unlock()
	if !said {
		d.c.journal.Tell(agent.Warning{Text: err.Error()})
	}
}
