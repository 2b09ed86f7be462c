package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// readersWait is how long a team that starts waits for those who read its store, such as
// a covey ps. They are done in a moment, but there may be many, one after another.
const readersWait = 30 * time.Second

// watchStore waits until the store's file is overwritten or replaced, which ends the team:
// what it would do from then on nobody would remember.
func watchStore(ctx context.Context, store *tasks.Store, j *journal.Journal) error {
	select {
	case <-store.Lost():
		j.Hurry()
		return store.Cause()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watchBackups tells people when the store is not backed up any more, and when it is
// again, once each. It returns when ctx ends.
func watchBackups(ctx context.Context, store *tasks.Store, j *journal.Journal, log *slog.Logger) error {
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
			j.Tell(agent.Warning{Text: fmt.Sprintf("the team's store is not backed up at present; work goes on, "+
				"and covey doctor says how old the last backup is: %v", trouble)})
		case trouble == nil && told:
			log.Info("the store is backed up again")
			j.Tell(agent.Warning{Text: "the team's store is backed up again"})
		}
		told = trouble != nil
	}
}

// openStore opens the team's store. One that is damaged is replaced by its last backup;
// without one there is nothing that a program could do.
func (o *Orchestrator) openStore() (*tasks.Store, error) {
	store, err := tasks.Open(o.place.Store(), &tasks.Options{
		BlobDir: o.place.Blobs(), Backups: state.StoreBackups, Refused: o.short.Note,
		Identity: o.place.Identity(), LockTimeout: readersWait,
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

// journalOf opens the journal, shows its lines to heard, and makes up for what the store
// has lost.
func (o *Orchestrator) journalOf(ctx context.Context, store *tasks.Store, heard reports) (*journal.Journal, error) {
	lost, err := journal.NewSalvage(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("ask the store what it knows: %w", err)
	}
	o.past = owned.NewPast()
	j, err := journal.Open(o.place.Journal(), journal.Options{
		Team: o.team().Name, Store: store, Log: o.opts.Log, Failed: o.short.Note, Wrap: o.journalFile,
		See: func(l journal.Line) {
			heard.recall(l)
			o.past.See(l)
			lost.See(l)
		},
	})
	if err != nil {
		return nil, err
	}
	if o.repairs, err = lost.Refill(ctx, store); err != nil {
		return nil, errors.Join(err, j.Abandon())
	}
	if said := j.Mended; said != "" {
		o.repairs = append(o.repairs, said)
	}
	return j, nil
}

// closeStore closes the store when all who use it have ended. That its last backup failed
// takes nothing back of what was done: it is said, and the next run makes one.
func (o *Orchestrator) closeStore(store *tasks.Store) {
	if err := store.Close(); err != nil {
		o.opts.Log.Warn("the store was not closed as it should be", "err", err)
	}
}

// backUp keeps what a run has put into the store before anybody works: which tasks of
// the spec are loaded, and whose conversation is whose, stands in no journal. That it fails ends
// no team: watchBackups says so.
func (o *Orchestrator) backUp(ctx context.Context, store *tasks.Store) {
	if err := store.Backup(ctx); err != nil && ctx.Err() == nil {
		o.opts.Log.Debug("the store could not be backed up at the start", "err", err)
	}
}
