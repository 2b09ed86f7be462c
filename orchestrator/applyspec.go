package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/workcopies"
)

// applySpec puts another version of the spec into effect. It checks everything before it
// changes anything, so that a bad edit changes nothing.
//
// There are three stages. Reading and comparing may fail and have changed nothing. Then
// the hooks are replaced, because they are the most likely to fail. The rest happens in
// the crew's loop between two rounds; if it fails, the old hooks are restored. A dry run
// ends before the second stage.
//
// The caller may be any goroutine; o.applying serializes changes. After an error the team
// runs as before, with one exception: if the old hooks cannot be restored, the new ones
// stay in effect, and covey's log says so.
func (t *team) applySpec(ctx context.Context, ask api.ApplySpec) (events.SpecChanged, error) {
	t.o.applying.Lock() // one change at a time
	defer t.o.applying.Unlock()
	next, err := t.o.readSpec(ask)
	if err != nil {
		return events.SpecChanged{}, err
	}
	spec := next.team
	change, err := t.replace(ctx, next, ask)
	if err == nil && !ask.DryRun {
		var notes []string
		notes, err = t.templates.Prune(ctx, spec)
		for _, n := range notes {
			t.Journal.Warn("%s", n)
		}
		err = errors.Join(err, trust.KeepPolicies(spec))
	}
	return change, err
}

// grow puts the members into effect that the lead has added, and removes those that have left.
func (t *team) grow(ctx context.Context) error {
	t.o.applying.Lock()
	defer t.o.applying.Unlock()
	next := *t.o.spec.Load()
	next.hooks = t.hooks.Layers()
	_, err := t.replace(ctx, next, api.ApplySpec{})
	return err
}

// replace puts a spec into effect, with the members that the lead has added. t.o.applying must be
// held.
func (t *team) replace(ctx context.Context, next loadedSpec, ask api.ApplySpec) (events.SpecChanged, error) {
	added, err := specs.ReadSpawned(ctx, t.Store)
	if err != nil {
		return events.SpecChanged{}, err
	}
	next.team = specs.Grow(next.team, added)
	change, err := specs.Compare(t.o.team(), next.team)
	if err != nil {
		return change, err
	}
	// The path may be a symlink whose target has changed.
	if dir, err := state.RealPath(next.team.Workspace); err == nil && dir != t.o.place.Workspace {
		return change, specs.CannotChange(fmt.Sprintf("workspace (%s, now %s)", t.o.place.Workspace, dir))
	}
	// A member that could not be seated after an earlier change is not among the
	// differences, because the spec in effect already names it. Without this line no
	// further covey up would try it again.
	change.Members = append(change.Members, t.unseated(next.team, change)...)
	goal, err := specs.AddPreview(ctx, t.Store, next.team, ask.Goal, &change)
	if err != nil || ask.DryRun || change.Empty() {
		return change, err
	}
	// From here on the change completes or is undone, even if the caller goes away: a
	// partial change would leave half a spec in effect.
	ctx, done := t.Loop.UntilOver(ctx)
	defer done()
	before := t.hooks.Layers()
	if err := t.reload.Adopt(ctx, next.team, next.hooks); errors.Is(err, members.ErrOver) {
		return change, err
	} else if err != nil {
		return change, texts.Errorf(configs.ErrSpec, "nothing has changed: %v", err)
	}
	err = t.Loop.Do(ctx, func(ctx context.Context) error { return t.useSpec(ctx, next, change, goal) })
	if err != nil {
		if undo := t.reload.Adopt(ctx, t.o.team(), before); undo != nil {
			t.Log.Error("the hooks of a spec that was not applied stay in effect", "err", undo)
		}
		return change, fmt.Errorf("the spec was not applied: %w", err)
	}
	return change, nil
}

// readSpec reads a version of the spec and everything that it names.
//
// The digest is compared with what this process reads, because the caller is another
// process and may have read other bytes. All errors of the spec are of kind
// configs.ErrSpec, which determines the CLI's exit code.
func (o *Orchestrator) readSpec(r api.ApplySpec) (loadedSpec, error) {
	given := slices.Sorted(maps.Keys(o.opts.Agents))
	team, err := configs.LoadWith(r.Spec, configs.Options{Given: given, Version: o.opts.Version, Managed: o.opts.ManagedFolders})
	if err != nil {
		return loadedSpec{}, texts.Errorf(configs.ErrSpec, "%v", err)
	}
	// A dry run puts nothing into effect, so it needs no digest that somebody has trusted.
	if !r.DryRun {
		digest, err := trust.DigestOf(team)
		if err != nil {
			return loadedSpec{}, err
		}
		if digest != r.Digest {
			return loadedSpec{}, texts.Errorf(configs.ErrSpec, "%s, or what it runs, has changed since it was read; "+
				"run covey up again", r.Spec)
		}
	}
	return o.check(team)
}

// check reads what a spec names.
func (o *Orchestrator) check(team *configs.Team) (loadedSpec, error) {
	managed, warnings, err := settings.LoadManaged(o.opts.ManagedFolders)
	if err != nil {
		return loadedSpec{}, fmt.Errorf("managed settings: %w", err)
	}
	c, missing, wrong := check(team, o.opts.Agents)
	if o.opts.NoTurns {
		missing = nil
	}
	// What is wrong comes before what is missing: a mistake in the spec may be the reason
	// why a program is looked for at all.
	for _, err := range []error{wrong, missing} {
		if err != nil {
			return loadedSpec{}, texts.Errorf(configs.ErrSpec, "%s: %v", team.File, err)
		}
	}
	c.hooks.AddManaged(managed, warnings)
	if err := workcopies.Check(workcopies.GitFor(o.place, nil), team, c.hooks.Sources); err != nil {
		return loadedSpec{}, texts.Errorf(configs.ErrSpec, "%s: %v", team.File, err)
	}
	return loadedSpec{
		team: launch.WithKinds(team, c.programs), scripts: c.scripts, programs: c.programs, hooks: c.hooks, prices: c.prices,
		filters: trust.FiltersOf(context.Background(), team),
	}, nil
}

// useSpec puts a design into effect. It runs in the crew's loop, so that no member gets
// work meanwhile.
//
// Steps that can fail come first, in one change of the store; nothing after it fails, so
// that a spec is never partly in effect. Limits and budgets take effect at once, also for
// running turns; a member in a turn keeps its agent and prompt until the turn ends.
func (t *team) useSpec(ctx context.Context, next loadedSpec, change events.SpecChanged,
	goal specs.Goal) error {
	// Other goroutines read the spec without a lock. Until n.Load has returned they may
	// see one that is withdrawn again after an error.
	before := t.o.spec.Load()
	t.o.spec.Store(&next)
	n := specs.News{Values: map[string]json.RawMessage{}}
	if change.Goal != "" {
		n.Goal = &goal
	}
	var err error
	n.Loaded, err = specs.ReadLoaded(ctx, t.Store)
	var times specs.ReadySchedules
	if err == nil {
		times, err = t.times.Plan(ctx, next.team)
		n.Values[specs.SchedulesKey] = times.Record()
	}
	if err == nil {
		err = n.Load(ctx, t.Store, next.team)
	}
	if err != nil {
		t.o.spec.Store(before)
		return err
	}
	// Nothing below this line may fail: the store has the new spec. The members come last,
	// because a member that is seated reads the limits, the slots and the goal that are set
	// before.
	t.times.Use(times)
	t.Ledger.SetBudget(next.team.Budget, next.prices)
	t.Board.SetTeam(next.team)
	for _, m := range next.team.Members() {
		t.Ledger.SetLimits(m.Name, m.Limits)
	}
	t.Logins.Allot(next.team.Members())
	if change.Goal != "" {
		t.goals.Set(change.Goal)
	}
	t.Journal.Tell(change)
	if t.nodes != nil { // before members begin anew there
		t.nodes.Respec()
	}
	t.crew.ApplyChanges(ctx, change.Members)
	if err := t.markRunning(t.goals.Text()); err != nil {
		// The spec is in effect; guardState writes run.json later.
		t.Short.Note(err)
		t.Journal.Warn("the spec was applied, but run.json does not say so yet: %v", err)
	}
	return nil
}

// unseated lists the members of a spec that have no seat and do not appear in a change,
// because an earlier attempt to seat them failed.
func (t *team) unseated(team *configs.Team, change events.SpecChanged) []events.MemberChange {
	var list []events.MemberChange
	for _, m := range team.Members() {
		_, seated := t.Seats.Of(m.Name)
		if seated || slices.ContainsFunc(change.Members, func(o events.MemberChange) bool { return o.Name == m.Name }) {
			continue
		}
		list = append(list, events.MemberChange{Name: m.Name, Change: events.MemberAdded, Agent: members.AgentTitle(m.Agent)})
	}
	return list
}
