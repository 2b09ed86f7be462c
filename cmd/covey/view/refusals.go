package view

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Refusal says when and why hooks did not agree to the completion of a task.
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
	for l, err := range journal.Backwards(place.Journal(), 0) {
		if errors.Is(err, fs.ErrNotExist) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if l.Type != "hook_feedback" && l.Type != "task" {
			continue
		}
		p := data(l)
		r := Refusal{l.Time, l.Member, l.Turn, p.Text}
		if p.Task != nil {
			p.TaskID, r.Text = p.Task.ID, p.Reason
		}
		if p.TaskID != task {
			continue
		}
		if p.Op == "created" {
			break
		}
		if p.Op == "refused" || l.Type == "hook_feedback" {
			list = append(list, r)
		}
	}
	slices.Reverse(list)
	return list, nil
}
