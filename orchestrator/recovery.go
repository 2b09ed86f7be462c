package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// readersWait is how long a starting team waits for readers of its store, such as covey
// ps. Each takes a moment, but there may be many.
const readersWait = 30 * time.Second

// watchStore waits until the store's file is overwritten or replaced. That ends the team,
// because later changes would be lost.
func watchStore(ctx context.Context, store *tasks.Store, j *state.Journal) error {
	select {
	case <-store.Lost():
		j.Hurry()
		return store.Cause()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watchBackups tells people when backups of the store fail, and when they succeed again,
// once each. It returns when ctx ends.
func watchBackups(ctx context.Context, store *tasks.Store, j *state.Journal, log *slog.Logger) error {
	told := false
	for {
		select {
		case <-store.Backups().News():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		trouble := store.Backups().Trouble()
		switch {
		case trouble != nil && !told:
			log.Warn("the store is not backed up", "err", trouble)
			j.Warn("the team's store cannot be backed up at present; work continues, "+
				"and covey doctor says how old the last backup is: %v", trouble)
		case trouble == nil && told:
			log.Info("the store is backed up again")
			j.Warn("the team's store is backed up again")
		}
		told = trouble != nil
	}
}

// newerFiles returns an error if a newer covey has written the files of a team. It is asked
// before the first of them is changed: a migrated store would be of no use to either covey.
func newerFiles(p state.Place) error {
	if _, err := state.ReadRunFile(p); errors.Is(err, state.ErrNewer) {
		return err
	}
	// A journal is only appended to, so its last line is as new as any.
	if _, err := state.JournalTail(p.Journal(), 1, nil); errors.Is(err, state.ErrNewer) {
		return err
	}
	return nil
}

// openStore opens the team's store. A damaged one is replaced by its last backup, if
// there is one.
func (o *Orchestrator) openStore(lead *coordinator) (*tasks.Store, error) {
	store, err := tasks.Open(o.place.Store(), &tasks.Options{
		BlobDir: o.place.Blobs(), Backups: state.StoreBackups, Refused: o.short.Note,
		Identity: o.place.Identity(), LockTimeout: readersWait, Replica: lead.replica(),
	})
	if errors.Is(err, tasks.ErrForeign) {
		return nil, fmt.Errorf("%w, or run covey up --fresh, which starts over", err)
	}
	if errors.Is(err, tasks.ErrCorrupt) {
		return nil, fmt.Errorf("the team's state cannot be read: %w\nput an older copy of the file there, if you have one;"+
			" or run covey up --fresh, which forgets the earlier run and starts over", err)
	}
	return store, err
}

// closeStore closes the store after all its users have ended. If the last backup fails,
// it is only logged, and the next run makes one.
func (o *Orchestrator) closeStore(store *tasks.Store) {
	if err := store.Close(); err != nil {
		o.opts.Log.Warn("close the store", "err", err)
	}
}

// backUp backs up the store before members work: the loaded tasks of the spec and the
// sessions of members are in no journal. It only logs an error, because watchBackups
// reports it.
func (o *Orchestrator) backUp(ctx context.Context, store *tasks.Store) {
	if err := store.Backup(ctx); err != nil && ctx.Err() == nil {
		o.opts.Log.Debug("the store could not be backed up at the start", "err", err)
	}
}
