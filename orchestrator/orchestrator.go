package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/run"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/boxes"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/replica"
	"github.com/coveyteam/covey/teammate/acp"
)

// Options tune a run. The zero value runs the team as its spec says.
type Options struct {
	Goal    string // instead of the spec's goal
	Fresh   bool   // forget the earlier run
	Standby bool   // wait until the host that runs the team, by its bus, is silent or ends the run
	Keep    bool   // stay up when all is done, like the spec's keep
	Setup   Setup  // what the Setup hooks do before the sessions begin
	Version string // of covey, for run.json
	// NoTurns means that only Merge or Decide will be called. No member takes a turn then, so their
	// programs and keys need not be there.
	NoTurns bool
	// StateHome is the absolute path of the folder for the team's state; empty: the
	// result of the function StateHome. Commands then find the team by COVEY_STATE_HOME,
	// which is set for hooks and agents. It does not move what the user trusts.
	StateHome string
	// OwnProcess means that this process serves only the team: it adopts orphans of
	// members' tools, so that it can identify them, and kills the rest at the end. On
	// Linux it hides the process's memory and environment, which may hold API keys, from
	// the user's other processes.
	OwnProcess bool
	Bin        string       // path of the covey executable, for hooks; default this process's
	Log        *slog.Logger // receives covey's own errors; nil: discarded
	// OnLine is called with every line of the journal of this run, in order. It must not
	// block.
	OnLine func(events.Line)
	// Agents are the program's own agents, by the names that the spec uses for them
	// (configs.Options.Given).
	Agents map[string]AgentMaker
	// Hooks are the program's own hooks, for all members; nil: none. They run in addition
	// to those of the spec. The program may add and remove hooks while the team runs.
	Hooks *hooks.Registry
	// ManagedFolders hold an administrator's settings, which bind every team
	// (settings.ManagedFolders); nil: none.
	ManagedFolders []string
	// Terminal shows a notice on the terminal of the program, for rules of the spec that tell
	// the desktop; nil: it has none. It must not block.
	Terminal func(title, text string)
	// Page is what the team knows of its web page, for a page of this process; nil: it has none.
	Page *api.Page
	// Unattended means that nobody answers questions whether work is merged, as in a CI job: the run does
	// not wait for their answers.
	Unattended bool
	// OnUp is called once the team is up and can be reached, and OnWait with the reason why it is not yet, if
	// Standby is set and another host runs it.
	OnUp   func(state.Place)
	OnWait func(why string)
	// Record is the folder in which what models are asked and answered is recorded; empty: it is not.
	Record string
	// Replay is the folder of a recording from which all models answer; empty: they answer themselves.
	// No key is needed then.
	Replay    string
	Overrides Overrides
}

// Setup describes what the Setup hooks of a run do before any session begins (Options.Setup).
type Setup string

// The triggers of Setup hooks.
const (
	SetupNone        Setup = ""            // they do not run
	SetupInit        Setup = "init"        // prepare the workspace
	SetupMaintenance Setup = "maintenance" // maintain the workspace
)

// Overrides replace parts of a run in tests. The zero value replaces none.
type Overrides struct {
	Clock       members.Clock
	Patience    acp.Timeouts                              // for agent programs
	Backoff     time.Duration                             // before an agent program restarts
	Stalled     func() bool                               // reports whether the servers of the team are silent
	LosesPoke   func() bool                               // reports whether the crew loses a poke
	JournalFile func(state.JournalFile) state.JournalFile // wraps the journal's file, to inject failures
	Sandbox     *sandbox.Support                          // what the system can hold; nil: what it says
	Nodes       Nodes                                     // other hosts for members; nil: as the spec says
	On          func(member string) []string              // labels of the node of a member; nil: as the spec says
}

// Orchestrator runs one team once. Create it with New.
type Orchestrator struct {
	spec atomic.Pointer[loadedSpec]
	// applying is held while another spec is applied.
	applying sync.Mutex
	opts     Options
	place    state.Place
	short    state.Shortage
	readers  *readers // loops over the journal of this run
	drafts   *members.Drafts
	record   state.RunRecord
	repair   bool // of the team's streams, see Repair
}

// thisRun is what a run is for, and what it has found.
type thisRun struct {
	only      crew.Purpose // what it is for
	started   time.Time
	leftovers string             // the processes that a killed run had left, for people; empty: none
	left      workcopies.Remains // working copies of a run that Options.Fresh forgets
	tape      *recordings.Tape   // of what models are asked; nil: none
	recorded  *recorded          // what models of the spec answer from
	lead      *coordinator       // nil: the team's data is on this host
	nodes     Nodes              // other hosts for members; nil: there are none
	hosted    *hosting           // nil: the run hosts no members of a team that another host leads
}

// New checks that a team can run: every file that its spec names can be read and
// understood. It starts nothing and writes nothing. Its errors wrap configs.ErrSpec or
// settings.ErrManaged.
func New(team *configs.Team, opts Options) (*Orchestrator, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.OnLine == nil {
		opts.OnLine = func(events.Line) {}
	}
	if opts.Bin == "" {
		bin, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find covey's own executable: %w", err)
		}
		opts.Bin = bin
	}
	if opts.Page == nil {
		opts.Page = &api.Page{}
	}
	place, err := opts.placeOf(team)
	if err = errors.Join(err, opts.checkTape()); err != nil {
		return nil, err
	}
	managed, warnings, err := settings.LoadManaged(opts.ManagedFolders)
	if err != nil {
		return nil, err
	}
	c, missing, wrong := check(team, opts.Agents)
	wrong = errors.Join(wrong, configs.CheckManaged(team, opts.ManagedFolders))
	missing = errors.Join(missing, boxes.Check(team, place, opts.Overrides.support))
	if opts.NoTurns {
		missing = nil
	}
	if opts.Replay != "" {
		missing = withoutKeys(missing)
	} else {
		wrong = errors.Join(wrong, launch.CheckGateway(team, c.programs, opts.Record != ""))
	}
	if err := errors.Join(wrong, missing); err != nil {
		return nil, fmt.Errorf("%w:\n%w", configs.ErrSpec, err)
	}
	c.hooks.AddManaged(managed, warnings)
	if err := workcopies.Check(workcopies.GitFor(place, nil), team, c.hooks.Sources); err != nil {
		return nil, err
	}
	o := &Orchestrator{opts: opts, place: place, readers: newReaders(), drafts: members.NewDrafts()}
	opts.Page.Public = func() string { return o.team().Web.PublicURL }
	return o.withSpec(loadedSpec{
		team: launch.WithKinds(team, c.programs), scripts: c.scripts, programs: c.programs, hooks: c.hooks, prices: c.prices,
		filters: trust.FiltersOf(context.Background(), team),
	}), nil
}

// placeOf returns the Place of a team that runs with these options.
func (o Options) placeOf(team *configs.Team) (state.Place, error) {
	if o.StateHome != "" && !filepath.IsAbs(o.StateHome) {
		return state.Place{}, fmt.Errorf("Options.StateHome is %q; it must be an absolute path", o.StateHome)
	}
	return state.PlaceIn(o.StateHome, team.Name, team.Workspace)
}

// Place returns where the team keeps its state.
func (o *Orchestrator) Place() state.Place { return o.place }

// Run runs the team until its work is done, no member can continue, it is told to stop,
// or ctx ends. It returns ErrRunning (with the process id) if the team runs already. It
// resumes what an earlier run left. When it returns, nothing that it started still runs.
// An Orchestrator runs once, by Run, Setup or Merge.
func (o *Orchestrator) Run(ctx context.Context) (Ending, error) { return o.run(ctx, crew.Purpose{}) }

// Setup runs the Setup hooks that Options.Setup selects, begins every member's session,
// and ends without a turn; the next run begins the work. Its errors are Run's.
func (o *Orchestrator) Setup(ctx context.Context) (Ending, error) {
	return o.run(ctx, crew.Purpose{Setup: true})
}

// Merge merges finished work and ends: no session begins, and nothing new of the spec is
// loaded. Its errors are Run's.
func (o *Orchestrator) Merge(ctx context.Context, r api.MergeRequest) (api.MergeReply, error) {
	var reply api.MergeReply
	over := false
	merged := func(list []tasks.Merge) { reply.Merges, over = list, true }
	ending, err := o.run(ctx, crew.Purpose{Merge: &r, Merged: merged})
	if err == nil && !over {
		err = fmt.Errorf("merge %s: stopped: %s; covey review shows its state", r, ending.Reason)
	}
	return reply, err
}

// run runs the team for a purpose.
func (o *Orchestrator) run(ctx context.Context, only crew.Purpose) (Ending, error) {
	only.Trigger = string(o.opts.Setup)
	return o.runFor(ctx, thisRun{only: only, nodes: o.opts.Overrides.Nodes})
}

// runFor is run with more of what a run is.
func (o *Orchestrator) runFor(ctx context.Context, this thisRun) (ending Ending, err error) {
	this.started = time.Now()
	defer o.readers.end()
	defer func() { err = o.short.Explain(o.place, err) }()
	_, absent := os.Stat(o.place.Dir)
	first := errors.Is(absent, fs.ErrNotExist) // so no run can have left anything
	if err := o.place.Create(); err != nil {
		return Ending{}, err
	}
	lock, err := state.LockTeam(o.place)
	if err != nil {
		return Ending{}, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	// Only now, because callers of a running team are also identified by their
	// environment (Processes.leftBehind).
	if o.opts.OwnProcess || sandboxed(o.team()) { // no box is started otherwise
		if err := process.HideMemory(); err != nil {
			return Ending{}, err
		}
	}
	if !first {
		this.leftovers = o.clearUp()
	}
	// Do this under the lock, and after leftover processes of the last run were ended:
	// they could still write there.
	lead, err := o.lead(ctx, func() error {
		if o.opts.Fresh {
			this.left = leftBehind(ctx, o.place)
			if err := forget(o.place); err != nil {
				return fmt.Errorf("forget the earlier run: %w", err)
			}
		}
		return errors.Join(newerFiles(o.place), trust.KeepPolicies(o.team()))
	})
	if err != nil {
		return Ending{}, err
	}
	this.recorded = o.newRecorded()
	if this.tape, err = o.openTape(); err != nil {
		return Ending{}, err
	}
	defer func() { err = errors.Join(err, this.tape.Close()) }()
	defer func() {
		if err := lead.release(); err != nil {
			o.opts.Log.Warn("the servers do not know that the team has ended", "err", err)
		}
	}()
	this.lead = lead
	store, err := o.openStore(lead)
	if err != nil {
		return Ending{}, err
	}
	defer o.closeStore(store)
	ending, err = o.withStore(ctx, store, this)
	if cause := store.Cause(); cause != nil { // other errors are its consequence
		err = fmt.Errorf("%w; run covey up again: it restores all that was committed", cause)
		if errors.Is(cause, replica.ErrFenced) {
			err = cause
		}
	}
	return ending, err
}

// clearUp ends the processes and removes the files that a killed run has left. It describes the
// processes for people. The team's lock must be held.
func (o *Orchestrator) clearUp() (leftovers string) {
	if left := proc.KillMarked(o.place.Mark()); len(left) > 0 {
		leftovers = fmt.Sprintf("the last run was killed and had left processes running; they were ended: %v", left)
	}
	if err := errors.Join(state.Sweep(o.place), o.place.ClearSockets()); err != nil {
		o.opts.Log.Warn("files of a killed run could not be removed", "err", err)
	}
	return leftovers
}

// withStore opens what depends on the store, runs the team, and closes it all in reverse
// order: the bus and the store outlive the actors that use them.
//
// The order of closing is fixed. The crew ends first, and then callbacks of the program
// that outlive it. The journal writes its last line and run.json gets the result before the
// bus closes: who sees the socket gone finds both. The handlers of the server are the last
// to be waited for. An error of one step does not keep the others from running.
func (o *Orchestrator) withStore(ctx context.Context, store *tasks.Store, this thisRun) (Ending, error) {
	live := view.NewLive(store.Outbox())
	j, repairs, err := state.ContinueJournal(ctx, o.place.Journal(), state.JournalOptions{
		Team: o.team().Name, Store: store, Log: o.opts.Log, Failed: o.short.Note, Wrap: this.lead.wrap(o.opts.Overrides.JournalFile),
		Happened: live.Apply, See: func(l events.Line) { live.Recall(l.Event()) },
	})
	if err != nil {
		return Ending{}, err
	}
	o.readers.open(j.Last())
	defer context.AfterFunc(ctx, j.Hurry)()
	b, err := bus.Embed(bus.Options{
		Team: o.team().Name, Log: o.opts.Log,
		OnError:     func(err error) { o.opts.Log.Error("the bus", "err", err) },
		MaxOfCaller: api.MaxCallerConns,
		Operator:    func(id bus.Identity) bool { return api.CallerFrom(id).Kind == process.Operator },
	})
	if err != nil {
		return Ending{}, errors.Join(err, j.Abandon())
	}
	own := o.nodesOf(this.lead, store, j)
	if own != nil {
		this.nodes = own
	}
	t, err := newTeam(ctx, o, this, opened{store: store, journal: j, bus: b, state: live, repairs: repairs})
	if err != nil {
		return Ending{}, errors.Join(err, b.Close(), j.Abandon())
	}
	if own != nil {
		own.inbox, own.copies = t.Asks, t.copies
	}
	line := func(l events.Line) {
		o.drafts.Journaled(l)
		o.opts.OnLine(l)
		t.people.See(l.Event())
	}
	views := state.Views{Line: line, Stored: t.crew.Stored, Grew: func(seq uint64) {
		o.readers.grew()
		if err := b.JournalGrew(seq); err != nil {
			o.opts.Log.Debug("publish that the journal grew", "err", err)
		}
	}}
	// The error is looked at only below: the journal must run and be closed in any case,
	// and what assemble has opened must be dismissed.
	before, err := t.assemble(ctx)
	defer t.dismiss()
	// Owned by this function: j.close waits for it.
	go j.Run(events.TeamStarted{Goal: before.goal, Members: o.memberNames(), Resumed: before.resumed,
		Version: o.opts.Version, Merge: this.only.Merges(), Spec: o.team().File, Workspace: o.place.Workspace,
		Gated: len(o.team().Gates["TaskCompleted"]) > 0}, views)
	var ending Ending
	if err == nil {
		ending, err = t.withCrew(ctx, before)
		awaitCallbacks(ctx, t.hooks.Functions, t.Journal)
	}
	// A run that is done met a full disk only for a while; nobody has to be told.
	if ending.Code != CodeDone {
		ending.Full = state.ExplainFullDisk(o.place, o.short.Cause())
	}
	if err == nil {
		j.Tell(events.TeamEnded{Reason: ending.Reason, ExitCode: ending.Code, Fault: string(ending.Fault()),
			Tasks: ending.counts(), Turns: ending.Turns, Merge: this.only.Merges()})
	}
	if closed := j.Close(); !errors.Is(err, closed) { // else it says the same again
		err = errors.Join(err, closed)
	}
	o.drafts.Close()
	err = errors.Join(err, t.markEnded(ending, err), b.Close(), o.place.ClearSockets())
	t.control.Wait()
	return ending, err
}

// assemble loads what is new in the spec and makes the members, unless they would have
// nothing to do.
func (t *team) assemble(ctx context.Context) (previousRun, error) {
	before, err := t.prepare(ctx)
	t.goals.Set(before.goal)
	if err != nil || before.done {
		return before, err
	}
	if before.repairs, err = t.hire(ctx); err != nil {
		return before, err
	}
	before.repairs = append(before.repairs, t.recordBaseline(ctx)...)
	t.o.backUp(ctx, t.Store)
	return before, nil
}

// withCrew runs the crew.
func (t *team) withCrew(ctx context.Context, before previousRun) (Ending, error) {
	for _, said := range slices.Concat(t.repairs, before.repairs) {
		t.Journal.Warn("%s", said)
	}
	if before.done {
		return t.alreadyDone(ctx, before)
	}
	for _, said := range []string{t.leftovers, t.lead.warning()} {
		if said != "" {
			t.Journal.Warn("%s", said)
		}
	}
	for _, w := range t.o.hooks().Warnings {
		t.Journal.Warn("%v", w)
	}
	var asked sync.WaitGroup
	asked.Go(func() { // beside the run, because programs take seconds to say their versions
		if t.only.Decide != nil {
			return // it would start them
		}
		for _, text := range launch.Outdated(ctx, t.o.team()) {
			t.Journal.Warn("%s", text)
		}
	})
	end, err := t.runActors(ctx)
	asked.Wait()
	rest := endCause{end: end, err: err}
	if t.only.Merge != nil {
		t.Merges.Tidy(context.WithoutCancel(ctx)) // also after an interrupt, because no run may follow
	}
	if err == nil && end.Done && ctx.Err() == nil {
		rest.lacks, _ = t.lacks(ctx) // before the working copies are removed
		if !t.Merges.Held(ctx) {     // their work may be in no other place once the move is undone
			t.copies.Tidy(ctx)
		}
		t.Merges.Tidy(ctx)
		if t.o.opts.OwnProcess {
			t.killStrays(ctx) // includes processes that git has just left
		}
	}
	ending, err := t.ending(ctx, rest, before)
	if err == nil && t.only.Works() {
		t.people.End(ctx, ending.Reason)
	}
	return ending, err
}

// runActors runs the run.Group: crew, control server and the caller's context, which
// carries the signals. The first to return ends the others.
//
// When it returns, no actor runs: run.Group waits for all of them. Each actor ends with
// crewCtx, which the interrupt of the crew cancels, so the other interrupts have nothing to
// do. An actor that returns ends the run; those that only watch therefore wait for crewCtx
// while they have nothing to report.
func (t *team) runActors(ctx context.Context) (end plan.Move, err error) {
	if t.o.opts.OwnProcess {
		if err := process.BecomeReaper(); err != nil {
			return plan.Move{}, err
		}
		defer t.killStrays(ctx)
	}
	// Listen after the reaper has started: callers are identified by their ancestors, and
	// an orphan would have none of ours.
	if err := t.sockets.Listen(); err != nil {
		return plan.Move{}, err
	}
	if err := t.control.Serve(t.Bus, t.checksOf(), commands{t}.handlers()...); err != nil {
		return plan.Move{}, err
	}
	// From here on announcements of trust are received, and no member that could write it
	// runs yet.
	t.trust.Begin()
	defer t.checkState()
	var g run.Group
	crewCtx, stopCrew := context.WithCancelCause(ctx)
	nodesCtx, stopNodes := context.WithCancel(context.WithoutCancel(ctx))
	defer stopNodes()
	g.Add(func() error {
		defer stopNodes() // by then all lives on nodes have ended
		var err error
		end, err = t.crew.Run(crewCtx, t.purpose())
		return err
	}, func(cause error) { stopCrew(cause) })
	g.Add(func() error { return waitDown(crewCtx, t.Loop) }, func(error) {})
	g.Add(func() error { return t.Journal.Broken(crewCtx) }, func(error) {})
	g.Add(func() error {
		t.reload.Run(crewCtx)
		return context.Cause(crewCtx)
	}, func(error) {})
	g.Add(func() error { return t.guardState(crewCtx) }, func(error) {})
	g.Add(func() error { return members.Reclaim(crewCtx, t.Store, t.Clock, t.Loop.Poke) }, func(error) {})
	g.Add(func() error { return t.copies.Watch(crewCtx, t.crew.GiveUpOn) }, func(error) {})
	g.Add(func() error { return t.Merges.Stranded(crewCtx) }, func(error) {})
	g.Add(func() error { return watchBackups(crewCtx, t.Store, t.Journal, t.Log) }, func(error) {})
	g.Add(func() error { return t.people.Run(crewCtx) }, func(error) {})
	g.Add(func() error { return t.templates.Serve(crewCtx, t.grow) }, func(error) {})
	g.Add(func() error { return t.lead.keep(crewCtx) }, func(error) {})
	g.Add(func() error { return t.serveNodes(nodesCtx) }, func(error) {})
	g.Add(func() error { return t.lead.report(crewCtx, t.Journal.Tell) }, func(error) {})
	g.Add(func() error { return watchStore(crewCtx, t.Store, t.Journal) }, func(error) {})
	if t.o.opts.OwnProcess {
		g.Add(func() error {
			t.Processes.Reap(crewCtx)
			return crewCtx.Err()
		}, func(error) {})
	}
	g.Add(run.ContextHandler(ctx))

	// run.json comes after the socket listens and before the first turn: who reads in it
	// that the team runs can reach the team, and a run that is killed from here on is known
	// as one that was cut off.
	if err := t.markRunning(t.goals.Text()); err != nil {
		stopCrew(err)
		return plan.Move{}, err
	}
	if t.o.opts.OnUp != nil {
		t.o.opts.OnUp(t.o.place)
	}
	err = g.Run() // sets end, so it must come before end is read
	return end, err
}

// memberNames returns the members in display order: the lead first, then as in the spec.
func (o *Orchestrator) memberNames() []string {
	return o.team().MemberNames()
}

// killStrays ends processes that members' tools have left running. It ignores the end of
// ctx, which may have ended the team.
func (t *team) killStrays(ctx context.Context) {
	if killed := t.Processes.KillStrays(context.WithoutCancel(ctx)); len(killed) > 0 {
		t.Journal.Warn("processes that tools had left running were killed: %v", killed)
	}
}
