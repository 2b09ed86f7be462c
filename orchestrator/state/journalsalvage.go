package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/backup"
)

// salvage holds the events that the journal has and the store has lost, because
// an older copy has replaced the store's file. Normally there are none, because
// the journal follows the store.
type salvage struct {
	after  uint64 // the store's last event
	events []tasks.Event
}

// newSalvage makes a salvage for a store.
func newSalvage(ctx context.Context, store *tasks.Store) (*salvage, error) {
	last, err := store.Outbox().LastEvent(ctx)
	return &salvage{after: last}, err
}

// see adds an event of the journal. It must be called with each event before refill.
func (s *salvage) see(e events.Event) {
	if e.Store > s.after {
		s.events = append(s.events, e.Change())
	}
}

// refill repeats the lost changes, and returns lines of text for people, or none
// if nothing was lost. It must be called before the store changes: the ids of the
// lost events are in the journal and must not be used again.
func (s *salvage) refill(ctx context.Context, store *tasks.Store) ([]string, error) {
	restored := store.Restored()
	if restored == nil && len(s.events) == 0 {
		return nil, nil
	}
	got, err := store.Outbox().Refill(ctx, s.events)
	if err != nil {
		return nil, fmt.Errorf("repeat the changes that the store has lost: %w", err)
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

// givenBack returns how much of what was committed since the backup a restored store
// has.
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

// mostNamed limits how many lost changes one line names.
const mostNamed = 20

// report returns lines on the changes that were repeated and those that were not.
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
		said = append(said, "not made again, covey logs --json has them: "+texts.Few(lost, mostNamed))
	}
	return append(said, "lost are the answers of tool calls since then (a call that was cut off may be made twice), "+
		"verdicts of gates (they are asked again), and which of the answers in the inbox were taken")
}

// ContinueJournal is OpenJournal for a store that may have been restored from a backup. It returns what was repaired, in words.
// Lines whose event the store does not know are what it has lost. They are put back before anything else changes the
// store, so that no new event gets the number of a lost one.
func ContinueJournal(ctx context.Context, path string, o JournalOptions) (j *Journal, repairs []string, err error) {
	lost, err := newSalvage(ctx, o.Store)
	if err != nil {
		return nil, nil, fmt.Errorf("read the store: %w", err)
	}
	see := o.See
	o.See = func(l events.Line) {
		see(l)
		lost.see(l.Event())
	}
	if j, err = OpenJournal(path, o); err != nil {
		return nil, nil, err
	}
	if repairs, err = lost.refill(ctx, o.Store); err != nil {
		return nil, nil, errors.Join(err, j.Abandon())
	}
	if j.Mended != "" {
		repairs = append(repairs, j.Mended)
	}
	return j, repairs, nil
}
