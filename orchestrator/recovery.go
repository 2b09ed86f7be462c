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
	store, err := tasks.Open(o.place.Store(), &tasks.Options{BlobDir: o.place.Blobs(), Backups: storeBackups})
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

// refill makes the lost changes again and says what happened, for people; empty: nothing
// did. It must come before anything is changed: the numbers of the lost events are in
// the journal and must not be given out again.
func (s *salvage) refill(ctx context.Context, store *tasks.Store) (string, error) {
	restored := store.Restored()
	if restored == nil && len(s.events) == 0 {
		return "", nil
	}
	got, err := store.Refill(ctx, s.events)
	if err != nil {
		return "", fmt.Errorf("make up for what the store has lost: %w", err)
	}
	var b strings.Builder
	if restored != nil {
		fmt.Fprintf(&b, "the team's store was damaged (%v); its backup of %s took its place, and the damaged file is kept as %s. ",
			restored.Damage, restored.Backup.Format(time.DateTime), restored.Kept)
	} else {
		b.WriteString("the team's store is older than the journal. ")
	}
	b.WriteString(s.report(got))
	return b.String(), nil
}

// report says what was made again, and what was not.
func (s *salvage) report(got tasks.Refilled) string {
	if len(s.events) == 0 {
		return "The journal knows of no change since, so nothing is lost but what had no line yet."
	}
	what := []string{fmt.Sprintf("%d about mail", got.Messages)}
	if len(got.Tasks) > 0 {
		what = append([]string{"about task " + strings.Join(got.Tasks, ", ")}, what...)
	}
	text := fmt.Sprintf("The journal has %d changes since (events %d to %d), which were made again: %s.",
		len(s.events), s.events[0].ID, s.events[len(s.events)-1].ID, strings.Join(what, "; "))
	if got.Unknown > 0 {
		text += fmt.Sprintf(" %d say too little for that: look at covey logs --json.", got.Unknown)
	}
	return text + " Lost are the answers of tool calls since then, so that a call which was cut off may be made twice."
}

// journalOf opens the journal, shows its lines to heard, and makes up for what the store
// has lost.
func (o *Orchestrator) journalOf(ctx context.Context, store *tasks.Store, heard reports) (*journal, error) {
	lost, err := newSalvage(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("ask the store what it knows: %w", err)
	}
	j, err := openJournal(o.place.Journal(), journalOptions{
		team: o.team().Name, store: store, log: o.opts.Log, see: func(l Line) {
			heard.recall(l)
			lost.see(l)
		},
	})
	if err != nil {
		return nil, err
	}
	if o.repairs, err = lost.refill(ctx, store); err != nil {
		return nil, errors.Join(err, j.file.Close())
	}
	return j, nil
}

// backUp keeps what a run has put into the store before anybody works: which tasks of
// the spec are loaded, and whose conversation is whose, stands in no journal. That it fails ends no team.
func (o *Orchestrator) backUp(ctx context.Context, store *tasks.Store) {
	if err := store.Backup(ctx); err != nil && ctx.Err() == nil {
		o.opts.Log.Warn("the store could not be backed up", "err", err)
	}
}
