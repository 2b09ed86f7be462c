package view

import (
	"errors"
	"io/fs"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// ReadLastRun folds the journal of a team from its last run that had members, to show the
// team when there is no process to ask. The State is empty for a team without a journal.
// Earlier runs are not read, because a journal may be long.
func ReadLastRun(place state.Place) (*view.State, error) {
	run := &view.State{}
	begin, err := lastStart(place)
	if errors.Is(err, fs.ErrNotExist) {
		return run, nil
	}
	if err != nil {
		return nil, err
	}
	return run, foldAfter(run, place, begin)
}

// ReadNeeds folds the whole journal of a team that does not run, because finished work may wait from an
// early run on, and returns what only a person can do besides answering questions.
func ReadNeeds(place state.Place) ([]api.Need, error) {
	s := &view.State{}
	if err := foldAfter(s, place, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s.OtherNeeds(), nil
}

// foldAfter applies the lines after a number. It skips damaged lines.
func foldAfter(s *view.State, place state.Place, after uint64) error {
	for l, err := range state.ReadJournal(place.Journal(), after) {
		var damaged *state.LineError
		switch {
		case err == nil:
			s.Apply(l.Brief())
		case !errors.As(err, &damaged):
			return err
		}
	}
	return nil
}

// lastStart returns the number of the line before the last start of a team in whose run a
// member began: a run that finds nothing new has no members to show. Without such a run it
// is the last start; 0 if there is none. It reads backwards, so earlier runs cost nothing.
// It skips damaged lines.
func lastStart(place state.Place) (uint64, error) {
	last, began := uint64(0), false
	for l, err := range state.JournalBackwards(place.Journal(), 0) {
		if err != nil {
			return 0, err
		}
		began = began || events.Is[events.MemberStarted](l)
		if !events.Is[events.TeamStarted](l) || l.Event().Data.(events.TeamStarted).Merge != "" {
			continue
		}
		if began {
			return l.Seq - 1, nil
		}
		last = max(last, l.Seq-1)
	}
	return last, nil
}
