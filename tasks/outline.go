package tasks

import (
	"context"
	"slices"

	"github.com/coveyteam/covey/tasks/store"
)

// Outline is what lists and drawings show of a task, and what counting tasks needs.
// It has a quarter of the size of a Task, which matters for thousands of tasks.
type Outline struct {
	ID        string   `json:"id"`
	Subject   string   `json:"subject"`
	Status    Status   `json:"status"`
	Owner     string   `json:"owner,omitempty"`
	BlockedBy []string `json:"blockedBy,omitempty"` // nil if there are none
	Cost      Cost     `json:"cost,omitzero"`
	Unchanged bool     `json:"unchanged,omitempty"` // see Task
}

// Outlines returns the outlines of a list of tasks. They share the tasks' BlockedBy.
func Outlines(list []Task) []Outline {
	out := make([]Outline, len(list))
	for i := range list {
		out[i] = list[i].outline()
		if len(list[i].BlockedBy) > 0 {
			out[i].BlockedBy = list[i].BlockedBy
		}
	}
	return out
}

// outline returns the outline of a task without its blockers.
func (t *Task) outline() Outline {
	return Outline{ID: t.ID, Subject: t.Subject, Status: t.Status, Owner: t.Owner, Cost: t.Cost, Unchanged: t.Unchanged}
}

// Outline returns the outlines of all tasks in the order of their ids. It is a
// cheaper List: it reads no text that lies in a file of its own.
func (s *Store) Outline(ctx context.Context) ([]Outline, error) {
	return store.View(ctx, s.db, "read the outlines of all tasks", s.outlines)
}

// outlines reads all outlines. The ids of all blockers share one array, because an
// array per task would be most of a long list's memory.
func (s *Store) outlines(r store.Reader) ([]Outline, error) {
	pass := s.decoded.pass()
	list := make([]Outline, 0, len(pass.old))
	var blockers []string
	for k, v := range r.Bucket(bucketTasks).Each(nil) {
		if err := r.Stopped(len(list)); err != nil {
			return nil, err
		}
		rec, err := pass.record(store.LastNum(k), v)
		if err != nil {
			return nil, err
		}
		o := rec.outline()
		if len(rec.BlockedBy) > 0 {
			first := len(blockers)
			blockers = append(blockers, rec.BlockedBy...)
			// The capacity ends with the task's own ids, so that a caller who appends to
			// the list does not overwrite the next one's. If blockers grows, earlier
			// outlines keep the old array.
			o.BlockedBy = blockers[first:len(blockers):len(blockers)]
		}
		list = append(list, o)
	}
	pass.end()
	return list, nil
}

// Blockers returns the ids in o.BlockedBy that are in the list, each once. The list
// must be in the order of ids.
func (o *Outline) Blockers(all []Outline) []string { return o.blockers(all, false) }

// OpenBlockers returns those of Blockers that are not completed: what o waits for.
func (o *Outline) OpenBlockers(all []Outline) []string { return o.blockers(all, true) }

func (o *Outline) blockers(all []Outline, open bool) []string {
	var ids []string
	for _, id := range o.BlockedBy {
		i, ok := find(len(all), id, func(i int) string { return all[i].ID })
		if ok && !(open && all[i].Status == Completed) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
