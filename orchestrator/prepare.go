package orchestrator

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"github.com/coveyteam/covey/orchestrator/workcopies"

	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/backup"
)

// keyEnded is the store key of the endRecord of a run that came to rest with all done;
// null during a run.
const keyEnded = "ended"

// endRecord is how a run came to rest.
type endRecord struct {
	Reason string `json:"reason"`
	Answer string `json:"answer"`
}

// previousRun is what a run finds when it starts.
type previousRun struct {
	resumed bool     // there was an earlier run
	done    bool     // it was done, and nothing is new since
	answer  string   // the lead's last answer at that time
	goal    string   // the lead's goal
	repairs []string // what was repaired when the members were made, for people
}

// prepare stores what is new in the spec: the goal and tasks. Repeating it after a crash
// adds nothing twice.
func (t *team) prepare(ctx context.Context) (previousRun, error) {
	var e previousRun
	known, err := t.Store.Members().List(ctx)
	if err != nil {
		return e, err
	}
	e.resumed = len(known) > 0
	var ended *endRecord
	if err := tasks.ReadValue(ctx, t.Store, keyEnded, &ended); err != nil {
		return e, err
	}
	goal, err := specs.ReadGoal(ctx, t.Store)
	if err != nil {
		return e, err
	}
	loaded, err := specs.ReadLoaded(ctx, t.Store)
	if err != nil {
		return e, err
	}
	// Nothing is loaded and keyEnded stays as it is, so the next run decides as if this one
	// had not been.
	if t.only.Merge != nil || t.only.Host != nil { // there are no turns, so the next run loads what is new
		e.goal = goal.Given
		return e, nil
	}
	next := goal.Next(t.o.opts.Goal, t.o.team().Goal)
	e.goal = next.Given
	newGoal := next.Given != goal.Given
	// A member that the store does not know has no session yet. It begins one even if there
	// is neither a task nor mail for it.
	fresh := slices.ContainsFunc(t.o.memberNames(), func(name string) bool {
		return !slices.ContainsFunc(known, func(m actors.Member) bool { return m.Name == name })
	})
	nothingNew := !newGoal && !fresh && len(loaded.New(t.o.team())) == 0 && len(t.o.team().Schedules) == 0
	if ended != nil && nothingNew && quietSinceEnd(ctx, t.Store, known) && !merging.Owed(ctx, t.Store) {
		e.done, e.answer = true, ended.Answer
		return e, nil
	}
	// In the same change, so that an interrupted run is not taken for one that was done.
	n := specs.News{Loaded: loaded, Values: map[string]json.RawMessage{keyEnded: json.RawMessage("null")}}
	if newGoal {
		n.Goal = &next
	}
	return e, n.Load(ctx, t.Store, t.o.team())
}

// quietSinceEnd reports whether no mail has come in since the team ended.
//
// An error counts as not quiet: the run then begins and meets the error where it can be
// reported.
func quietSinceEnd(ctx context.Context, s *tasks.Store, members []actors.Member) bool {
	open, err := s.AnyOpen(ctx)
	if err != nil || open {
		return false
	}
	return !slices.ContainsFunc(members, func(m actors.Member) bool {
		mail, err := s.Mail().Unread(ctx, m.Name)
		return err != nil || len(mail) > 0
	})
}

// forget removes what earlier runs left, except the lock, which must be held.
func forget(p state.Place) error {
	// Remove the journal before the store: a new store counts its events from 1, and an
	// old journal would seem to have their lines.
	for _, path := range []string{p.Journal(), p.RunFile()} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	// Remove the backups too, so that none replaces a new store.
	if err := backup.RemoveFiles(p.Store(), p.Blobs()); err != nil {
		return err
	}
	for _, dir := range []string{p.Transcripts(), p.Scratch(), p.Mail(), p.GateSettings()} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return p.Create()
}

// leftBehind reads what must be kept of a run that is forgotten.
//
// It must be called before forget, which removes the store. It never fails: without the
// remains, the branches of the forgotten run only count as foreign.
func leftBehind(ctx context.Context, p state.Place) workcopies.Remains {
	if _, err := os.Stat(p.Store()); err != nil {
		return workcopies.Remains{}
	}
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Backups: state.StoreBackups,
		Identity: p.Identity(), LockTimeout: readersWait})
	if err != nil {
		return workcopies.Remains{}
	}
	defer store.Close()
	return workcopies.ReadRemains(ctx, store)
}
