package api

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/coveyteam/covey/tasks"
)

// A task list crosses the wire page by page, because one answer may not be larger than the bus
// allows. Tasks that are made meanwhile come at the end and are seen.

// TaskQuery asks for the tasks after one.
type TaskQuery struct {
	ID      string `json:"after"`
	Outline bool   `json:"outline,omitempty"` // each task is a tasks.Outline
	// Columns asks for outlines as TaskColumns. A team of an older build does not know it,
	// and answers as if it was not there.
	Columns bool `json:"columns,omitempty"`
}

// TaskPage is one page of tasks, as JSON where it is made: encoding them tells how many fit.
type TaskPage[T any] struct {
	Tasks   []T          `json:"tasks"`
	Columns *TaskColumns `json:"columns,omitempty"` // instead of Tasks, if that was asked for
	More    bool         `json:"more"`
}

// TaskColumns are outlines, a list for each field. Reading 8,000 objects by their fields'
// names takes several times as long.
type TaskColumns struct {
	IDs      []string `json:"ids"`
	Subjects []string `json:"subjects"`
	Words    []string `json:"words"`  // the statuses and owners that there are
	Status   []int    `json:"status"` // places in Words
	Owner    []int    `json:"owner"`
	// Blockers counts each task's blockers; BlockedBy has the ids of all of them in turn.
	Blockers  []int    `json:"blockers"`
	BlockedBy []string `json:"blockedBy"`
}

// List are the page's tasks, which may have come in columns.
func (p TaskPage[T]) List() ([]T, error) {
	if p.Columns == nil {
		return p.Tasks, nil
	}
	rows, err := p.Columns.rows()
	list, _ := any(rows).([]T) // nobody asks for columns of whole tasks
	return list, err
}

// pageBytes is about how much of a task list one answer holds.
const pageBytes = 1 << 20

// cutTasks takes the tasks after the one with this id, up to pageBytes but at
// least one. all is in list order.
func cutTasks[T any](all []T, id func(*T) string, r TaskQuery) (TaskPage[json.RawMessage], error) {
	page := TaskPage[json.RawMessage]{Tasks: []json.RawMessage{}}
	first, err := placeAfter(all, id, r.ID)
	if err != nil {
		return page, err
	}
	size := 0
	for i := first; i < len(all); i++ {
		data, err := json.Marshal(&all[i])
		if err != nil {
			return page, err
		}
		if size += len(data); size > pageBytes && len(page.Tasks) > 0 {
			page.More = true
			break
		}
		page.Tasks = append(page.Tasks, data)
	}
	return page, nil
}

// placeAfter is the place in a list of the first task behind the one with this id.
//
// By number and not by place in the list: a task may have been deleted between
// two pages, and the one to go on behind with it.
func placeAfter[T any](all []T, id func(*T) string, after string) (int, error) {
	if after == "" {
		return 0, nil
	}
	last, err := strconv.ParseUint(after, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("task id %q: %w", after, tasks.ErrInvalid)
	}
	i := 0
	for ; i < len(all); i++ {
		if n, err := strconv.ParseUint(id(&all[i]), 10, 64); err != nil || n > last {
			break
		}
	}
	return i, nil
}

// cutColumns is cutTasks for columns.
func cutColumns(all []tasks.Outline, r TaskQuery) (TaskPage[json.RawMessage], error) {
	page := TaskPage[json.RawMessage]{Tasks: []json.RawMessage{}}
	first, err := placeAfter(all, func(t *tasks.Outline) string { return t.ID }, r.ID)
	if err != nil {
		return page, err
	}
	all = all[first:]
	size := 0
	for i := range all {
		if size += columnBytes(&all[i]); size > pageBytes && i > 0 {
			all, page.More = all[:i], true
			break
		}
	}
	page.Columns = columnsOf(all)
	return page, nil
}

// columnBytes is about how much a task takes in columns.
func columnBytes(t *tasks.Outline) int {
	size := 16 + len(t.ID) + len(t.Subject)
	for _, c := range []byte(t.Subject) {
		if c < ' ' || c == '<' || c == '>' || c == '&' {
			size += 5 // the encoder writes it as \u003c
		}
	}
	for _, id := range t.BlockedBy {
		size += 3 + len(id)
	}
	return size
}

// columnsOf puts outlines into columns.
func columnsOf(all []tasks.Outline) *TaskColumns {
	c := &TaskColumns{
		IDs: make([]string, len(all)), Subjects: make([]string, len(all)), Words: []string{},
		Status: make([]int, len(all)), Owner: make([]int, len(all)),
		Blockers: make([]int, len(all)), BlockedBy: []string{},
	}
	places := map[string]int{}
	place := func(word string) int {
		i, known := places[word]
		if !known {
			i = len(c.Words)
			places[word], c.Words = i, append(c.Words, word)
		}
		return i
	}
	for i := range all {
		t := &all[i]
		c.IDs[i], c.Subjects[i] = t.ID, t.Subject
		c.Status[i], c.Owner[i] = place(string(t.Status)), place(t.Owner)
		c.Blockers[i], c.BlockedBy = len(t.BlockedBy), append(c.BlockedBy, t.BlockedBy...)
	}
	return c
}

// rows are the outlines again. Columns that do not fit together are an error: they come
// from another process.
func (c *TaskColumns) rows() ([]tasks.Outline, error) {
	n, links := len(c.IDs), c.BlockedBy
	fits := len(c.Subjects) == n && len(c.Status) == n && len(c.Owner) == n && len(c.Blockers) == n
	word := func(place int) string {
		if fits = fits && 0 <= place && place < len(c.Words); !fits {
			return ""
		}
		return c.Words[place]
	}
	list := make([]tasks.Outline, n)
	for i := 0; fits && i < n; i++ {
		list[i] = tasks.Outline{
			ID: c.IDs[i], Subject: c.Subjects[i],
			Status: tasks.Status(word(c.Status[i])), Owner: word(c.Owner[i]),
		}
		count := c.Blockers[i]
		if fits = fits && 0 <= count && count <= len(links); fits && count > 0 {
			list[i].BlockedBy, links = links[:count:count], links[count:]
		}
	}
	if !fits || len(links) > 0 {
		return nil, fmt.Errorf("the team's answer makes no sense: columns of %d tasks that do not fit", n)
	}
	return list, nil
}
