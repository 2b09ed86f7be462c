package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/backup"
	"github.com/coveyteam/covey/teammate/agent"
)

// readersWait is how long a team that starts waits for those who read its store, such as
// a covey ps. They are done in a moment, but there may be many, one after another.
const readersWait = 30 * time.Second

// watchStore waits until the store's file is overwritten or replaced, which ends the team:
// what it would do from then on nobody would remember.
func (c *crew) watchStore(ctx context.Context) error {
	select {
	case <-c.store.Lost():
		c.journal.Hurry()
		return c.store.Cause()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// storeBackups is how many verified backups of a team's store are kept.
const storeBackups = 3

// openStore opens the team's store. One that is damaged is replaced by its last backup;
// without one there is nothing that a program could do.
func (o *Orchestrator) openStore() (*tasks.Store, error) {
	store, err := tasks.Open(o.place.Store(), &tasks.Options{
		BlobDir: o.place.Blobs(), Backups: storeBackups, Refused: o.short.Note,
		Identity: o.place.Identity(), LockTimeout: readersWait,
	})
	if errors.Is(err, tasks.ErrForeign) {
		return nil, fmt.Errorf("%w, or run covey up --fresh, which begins anew", err)
	}
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
	last, err := store.Outbox().LastEvent(ctx)
	return &salvage{after: last}, err
}

// see takes in a line of the journal.
func (s *salvage) see(l journal.Line) {
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
	got, err := store.Outbox().Refill(ctx, s.events)
	if err != nil {
		return nil, fmt.Errorf("make up for what the store has lost: %w", err)
	}
	if restored == nil {
		return append([]string{"the team's store is older than the journal"}, s.report(got)...), nil
	}
	said := []string{"the team's store was damaged; its backup of " + restored.Backup.Format(time.DateTime) + " took its place, " +
		givenBack(restored)}
	if !restored.Whole() || len(s.events) > 0 {
		said = append(said, s.report(got)...)
	}
	if restored.Kept == "" {
		return append(said, restored.Damage.Error()), nil
	}
	return append(said, fmt.Sprintf("the damaged file is kept as %s: %v", restored.Kept, restored.Damage)), nil
}

// givenBack says what a restored store has of what was committed since the backup.
func givenBack(r *backup.Restoration) string {
	text := fmt.Sprintf("and %d commits since were made again from their log", r.Commits)
	switch {
	case r.Whole():
		return text + ": nothing is lost"
	case r.Missing < 0:
		text += "; how many are missing the damaged file does not say"
	case r.Missing > 0:
		text += fmt.Sprintf("; the last %d are not in it", r.Missing)
	}
	if r.Texts > 0 {
		text += fmt.Sprintf("; %d long texts are gone, and what stands in their place says so", r.Texts)
	}
	return text
}

// mostNamed is how many lost things are named in one line.
const mostNamed = 20

// report says what was made again, and what was not, a line for each.
func (s *salvage) report(got tasks.Refilled) []string {
	if len(s.events) == 0 {
		return []string{"the journal knows of no change since: lost is at most what had no line yet"}
	}
	what := []string{fmt.Sprintf("%d about mail", got.Messages)}
	if len(got.Tasks) > 0 {
		what = append([]string{"about task " + strings.Join(got.Tasks, ", ")}, what...)
	}
	said := []string{fmt.Sprintf("changes since were made again from the journal (events %d to %d): %s",
		s.events[0].ID, s.events[len(s.events)-1].ID, strings.Join(what, "; "))}
	if lost := got.Unknown; len(lost) > 0 {
		more := ""
		if len(lost) > mostNamed {
			more = fmt.Sprintf(" and %d more", len(lost)-mostNamed)
		}
		said = append(said, "not made again, covey logs --json has them: "+
			strings.Join(lost[:min(len(lost), mostNamed)], ", ")+more)
	}
	return append(said, "lost are the answers of tool calls since then (a call that was cut off may be made twice), "+
		"verdicts of gates (they are asked again), and which of the answers in the inbox were taken")
}

// journalOf opens the journal, shows its lines to heard, and makes up for what the store
// has lost.
func (o *Orchestrator) journalOf(ctx context.Context, store *tasks.Store, heard reports) (*journal.Journal, error) {
	lost, err := newSalvage(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("ask the store what it knows: %w", err)
	}
	o.past = owned.NewPast()
	j, err := journal.Open(o.place.Journal(), journal.Options{
		Team: o.team().Name, Store: store, Log: o.opts.Log, Failed: o.short.Note, Wrap: o.journalFile,
		See: func(l journal.Line) {
			heard.recall(l)
			o.past.See(l)
			lost.see(l)
		},
	})
	if err != nil {
		return nil, err
	}
	if o.repairs, err = lost.refill(ctx, store); err != nil {
		return nil, errors.Join(err, j.Abandon())
	}
	if said := j.Mended; said != "" {
		o.repairs = append(o.repairs, said)
	}
	return j, nil
}

// watchBackups tells people when the store is not backed up any more, and when it is
// again, once each. It returns when ctx ends.
func (c *crew) watchBackups(ctx context.Context) error {
	told := false
	for {
		select {
		case <-c.store.Backups().News():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		trouble := c.store.Backups().Trouble()
		switch {
		case trouble != nil && !told:
			c.log.Warn("the store is not backed up", "err", trouble)
			c.journal.Tell(agent.Warning{Text: fmt.Sprintf("the team's store is not backed up at present; work goes on, "+
				"and covey doctor says how old the last backup is: %v", trouble)})
		case trouble == nil && told:
			c.log.Info("the store is backed up again")
			c.journal.Tell(agent.Warning{Text: "the team's store is backed up again"})
		}
		told = trouble != nil
	}
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
