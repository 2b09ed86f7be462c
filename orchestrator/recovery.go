package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/tasks"
)

// storeBackups is how many verified backups of a team's store are kept.
const storeBackups = 3

// openStore opens the team's store. One that is damaged is replaced by its last backup;
// without one there is nothing that a program could do.
func (o *Orchestrator) openStore() (*tasks.Store, error) {
	store, err := tasks.Open(o.place.Store(), &tasks.Options{
		BlobDir: o.place.Blobs(), Backups: storeBackups, Refused: o.short.note,
	})
	if errors.Is(err, tasks.ErrCorrupt) {
		return nil, fmt.Errorf("the team's state cannot be read: %w\nput an older copy of the file there, if you have one;"+
			" or run covey up --fresh, which forgets the earlier run and begins anew", err)
	}
	return store, err
}

// salvage is what the journal knows and the store has lost: its file was damaged and an
// older copy took its place, whoever put it there. The journal follows the store, so
// normally there is nothing.
type salvage struct {
	after  uint64 // the last event that the store knows of
	events []tasks.Event
}

// newSalvage asks the store what it knows.
func newSalvage(ctx context.Context, store *tasks.Store) (*salvage, error) {
	last, err := store.LastEvent(ctx)
	return &salvage{after: last}, err
}

// see takes in a line of the journal.
func (s *salvage) see(l Line) {
	if l.Store > s.after {
		s.events = append(s.events, tasks.Event{
			ID: l.Store, Time: l.Time, Type: tasks.EventType(l.Type), Member: l.Member, Data: l.Data,
		})
	}
}

// refill makes the lost changes again and says what happened, for people, a line for each
// thing; none: nothing did. It must come before anything is changed: the numbers of the lost events are in
// the journal and must not be given out again.
func (s *salvage) refill(ctx context.Context, store *tasks.Store) ([]string, error) {
	restored := store.Restored()
	if restored == nil && len(s.events) == 0 {
		return nil, nil
	}
	got, err := store.Refill(ctx, s.events)
	if err != nil {
		return nil, fmt.Errorf("make up for what the store has lost: %w", err)
	}
	if restored == nil {
		return append([]string{"the team's store is older than the journal"}, s.report(got)...), nil
	}
	said := []string{"the team's store was damaged; its backup of " + restored.Backup.Format(time.DateTime) + " took its place"}
	said = append(said, s.report(got)...)
	return append(said, fmt.Sprintf("the damaged file is kept as %s: %v", restored.Kept, restored.Damage)), nil
}

// report says what was made again, and what was not, a line for each.
func (s *salvage) report(got tasks.Refilled) []string {
	if len(s.events) == 0 {
		return []string{"the journal knows of no change since: nothing is lost but what had no line yet"}
	}
	what := []string{fmt.Sprintf("%d about mail", got.Messages)}
	if len(got.Tasks) > 0 {
		what = append([]string{"about task " + strings.Join(got.Tasks, ", ")}, what...)
	}
	said := []string{fmt.Sprintf("%d changes since were made again from the journal (events %d to %d): %s",
		len(s.events)-got.Unknown, s.events[0].ID, s.events[len(s.events)-1].ID, strings.Join(what, "; "))}
	if got.Unknown > 0 {
		said = append(said, fmt.Sprintf("%d events say too little to be made again; covey logs --json has them", got.Unknown))
	}
	return append(said, "lost are the answers of tool calls since then: a call that was cut off may be made twice")
}

// journalOf opens the journal, shows its lines to heard, and makes up for what the store
// has lost.
func (o *Orchestrator) journalOf(ctx context.Context, store *tasks.Store, heard reports) (*journal, error) {
	lost, err := newSalvage(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("ask the store what it knows: %w", err)
	}
	o.past = newPastWrites()
	j, err := openJournal(o.place.Journal(), journalOptions{
		team: o.team().Name, store: store, log: o.opts.Log, see: func(l Line) {
			heard.recall(l)
			o.past.see(l)
			lost.see(l)
		},
	})
	if err != nil {
		return nil, err
	}
	if o.repairs, err = lost.refill(ctx, store); err != nil {
		return nil, errors.Join(err, j.file.Close())
	}
	j.short = &o.short
	return j, nil
}

// backUp keeps what a run has put into the store before anybody works: which tasks of
// the spec are loaded, and whose conversation is whose, stands in no journal. That it fails ends no team.
func (o *Orchestrator) backUp(ctx context.Context, store *tasks.Store) {
	if err := store.Backup(ctx); err != nil && ctx.Err() == nil {
		o.opts.Log.Warn("the store could not be backed up", "err", err)
	}
}
