package view

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// Refusal describes when and why hooks did not agree to the completion of a task.
type Refusal struct {
	Time   time.Time `json:"time"`
	Member string    `json:"member"` // empty: a person wanted to complete the task
	Turn   int       `json:"turn"`
	Text   string    `json:"text"`
}

// ReadRefusals returns the refusals of a task's completion, the first one first, from a
// team's journal. They may come from a call of a member's or from the end of its turn. It
// reads backwards and stops where the task was created.
func ReadRefusals(place state.Place, task string) ([]Refusal, error) {
	list := []Refusal{}
	for l, err := range state.JournalBackwards(place.Journal(), 0) {
		if errors.Is(err, fs.ErrNotExist) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		e := l.Event()
		if id, r, ok := view.RefusalOf(e); ok && id == task {
			list = append(list, Refusal{r.Time, r.Member, r.Turn, r.Reason})
		}
		if view.Creates(e, task) {
			break
		}
	}
	slices.Reverse(list)
	return list, nil
}
