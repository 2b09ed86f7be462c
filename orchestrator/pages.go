package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/coveyteam/covey/tasks"
)

// A task list goes over the control wire page by page, because one answer may not be
// larger than the bus allows; tasks that are made meanwhile come at the end and are seen.

// taskPageAfter asks for the tasks after one.
type taskPageAfter struct {
	After   string `json:"after"`
	Outline bool   `json:"outline,omitempty"` // each task is a tasks.Outline
	// Columns asks for outlines as taskColumns. A team of an older build does not know it,
	// and answers as if it was not there.
	Columns bool `json:"columns,omitempty"`
}

// taskPage is one page of tasks, as JSON where it is made: encoding them tells how many fit.
type taskPage[T any] struct {
	Tasks   []T          `json:"tasks"`
	Columns *taskColumns `json:"columns,omitempty"` // instead of Tasks, if that was asked for
	More    bool         `json:"more"`
}

// taskColumns are outlines, a list for each field. Reading 8,000 objects by their fields'
// names takes several times as long.
type taskColumns struct {
	IDs      []string `json:"ids"`
	Subjects []string `json:"subjects"`
	Words    []string `json:"words"`  // the statuses and owners that there are
	Status   []int    `json:"status"` // places in Words
	Owner    []int    `json:"owner"`
	// Blockers counts each task's blockers; BlockedBy has the ids of all of them in turn.
	Blockers  []int    `json:"blockers"`
	BlockedBy []string `json:"blockedBy"`
}

// Tasks lists all tasks in list order, however many there are.
func (c *Client) Tasks(ctx context.Context) ([]tasks.Task, error) {
	return pages(ctx, c, taskPageAfter{}, func(t *tasks.Task) string { return t.ID })
}

// Outline is Tasks with no more of each task than its outline; a long list comes many
// times as fast.
func (c *Client) Outline(ctx context.Context) ([]tasks.Outline, error) {
	r := taskPageAfter{Outline: true, Columns: true}
	return pages(ctx, c, r, func(t *tasks.Outline) string { return t.ID })
}

// pages asks for all tasks.
func pages[T any](ctx context.Context, c *Client, r taskPageAfter, id func(*T) string) ([]T, error) {
	all := []T{}
	for {
		page, err := ask[taskPage[T]](ctx, c, verbTasks, r)
		if err != nil {
			return nil, err
		}
		if page.Columns != nil {
			rows, err := page.Columns.rows()
			if err != nil {
				return nil, err
			}
			page.Tasks, _ = any(rows).([]T) // nobody asks for columns of whole tasks
		}
		all = append(all, page.Tasks...)
		if !page.More || len(page.Tasks) == 0 {
			return all, nil
		}
		r.After = id(&page.Tasks[len(page.Tasks)-1])
	}
}

// pageBytes is about how much of a task list one answer holds.
const pageBytes = 1 << 20

// page answers with the tasks after one, as many as fit.
func (c *control) page(ctx context.Context, _ Caller, r taskPageAfter) (taskPage[json.RawMessage], error) {
	if !r.Outline {
		all, err := c.h.Tasks(ctx)
		if err != nil {
			return taskPage[json.RawMessage]{}, err
		}
		return cutPage(all, func(t *tasks.Task) string { return t.ID }, r)
	}
	all, err := c.h.Outline(ctx)
	if err != nil {
		return taskPage[json.RawMessage]{}, err
	}
	if r.Columns {
		return cutColumns(all, r)
	}
	return cutPage(all, func(t *tasks.Outline) string { return t.ID }, r)
}

// cutPage takes the tasks after the one with this id, up to pageBytes but at
// least one. all is in list order.
func cutPage[T any](all []T, id func(*T) string, r taskPageAfter) (taskPage[json.RawMessage], error) {
	page := taskPage[json.RawMessage]{Tasks: []json.RawMessage{}}
	first, err := placeAfter(all, id, r.After)
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

// cutColumns is cutPage for columns.
func cutColumns(all []tasks.Outline, r taskPageAfter) (taskPage[json.RawMessage], error) {
	page := taskPage[json.RawMessage]{Tasks: []json.RawMessage{}}
	first, err := placeAfter(all, func(t *tasks.Outline) string { return t.ID }, r.After)
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
func columnsOf(all []tasks.Outline) *taskColumns {
	c := &taskColumns{
		IDs: make([]string, len(all)), Subjects: make([]string, len(all)), Status: make([]int, len(all)),
		Owner: make([]int, len(all)), Blockers: make([]int, len(all)), Words: []string{}, BlockedBy: []string{},
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
		c.IDs[i], c.Subjects[i], c.Status[i], c.Owner[i] = t.ID, t.Subject, place(string(t.Status)), place(t.Owner)
		c.Blockers[i], c.BlockedBy = len(t.BlockedBy), append(c.BlockedBy, t.BlockedBy...)
	}
	return c
}

// rows are the outlines again. Columns that do not fit together are an error: they come
// from another process.
func (c *taskColumns) rows() ([]tasks.Outline, error) {
	n, links := len(c.IDs), c.BlockedBy
	fits := len(c.Subjects) == n && len(c.Status) == n && len(c.Owner) == n && len(c.Blockers) == n
	list := make([]tasks.Outline, n)
	for i := 0; fits && i < n; i++ {
		status, owner, count := c.Status[i], c.Owner[i], c.Blockers[i]
		fits = 0 <= status && status < len(c.Words) && 0 <= owner && owner < len(c.Words) && 0 <= count && count <= len(links)
		if !fits {
			break
		}
		list[i] = tasks.Outline{ID: c.IDs[i], Subject: c.Subjects[i], Status: tasks.Status(c.Words[status]), Owner: c.Words[owner]}
		if count > 0 {
			list[i].BlockedBy, links = links[:count:count], links[count:]
		}
	}
	if !fits || len(links) > 0 {
		return nil, fmt.Errorf("the team's answer makes no sense: the columns of %d tasks do not fit together", n)
	}
	return list, nil
}
