package api

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/coveyteam/covey/tasks"
)

// A task list is sent in pages, because the bus limits the size of a reply. Tasks
// that are created meanwhile are on later pages.

// TaskQuery asks for the tasks after the one with this id.
type TaskQuery struct {
	ID      string `json:"after"`
	Outline bool   `json:"outline,omitempty"` // the reply has outlines, as Columns
}

// TaskPage is one page of tasks. The team makes it of encoded tasks, because
// their sizes decide how many fit.
type TaskPage[T any] struct {
	Tasks   []T          `json:"tasks"`
	Columns *TaskColumns `json:"columns,omitempty"` // instead of Tasks, if the query asks for outlines
	More    bool         `json:"more"`
}

// TaskColumns holds outlines with one list per field. Decoding 8,000 JSON objects
// takes several times as long.
type TaskColumns struct {
	IDs      []string `json:"ids"`
	Subjects []string `json:"subjects"`
	Words    []string `json:"words"`  // all statuses and owners
	Status   []int    `json:"status"` // indexes into Words
	Owner    []int    `json:"owner"`  // likewise
	// Blockers is the number of each task's blockers. BlockedBy holds the ids of
	// all of them in the order of the tasks.
	Blockers  []int    `json:"blockers"`
	BlockedBy []string `json:"blockedBy"`
	// What the tasks have cost; each list is absent if nothing has.
	Tokens []int64 `json:"tokens,omitempty"`
	Failed []int64 `json:"failed,omitempty"`
	Micros []int64 `json:"micros,omitempty"` // millionths of a dollar: floats take twice as long
	// Unchanged has a 1 for each task that was completed without a change; likewise absent.
	Unchanged []int64 `json:"unchanged,omitempty"`
}

// List returns the page's tasks, decoding columns if there are any.
func (p TaskPage[T]) List() ([]T, error) {
	if p.Columns == nil {
		return p.Tasks, nil
	}
	rows, err := p.Columns.rows()
	list, _ := any(rows).([]T) // only queries for outlines ask for columns
	return list, err
}

// pageBytes is the approximate size of a page.
const pageBytes = 1 << 20

// cutTasks makes the page of the tasks after r.ID, up to pageBytes but at least
// one task. all is in list order.
func cutTasks(all []tasks.Task, r TaskQuery) (TaskPage[json.RawMessage], error) {
	page := TaskPage[json.RawMessage]{Tasks: []json.RawMessage{}}
	first, err := placeAfter(all, func(t *tasks.Task) string { return t.ID }, r.ID)
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

// placeAfter returns the index of the first task with a higher id than after. It
// compares the ids as numbers, because the task with the id after may have been
// deleted between two pages.
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

// cutColumns is cutTasks for a page in columns.
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

// columnBytes returns the approximate size of a task in columns.
func columnBytes(t *tasks.Outline) int {
	size := 16 + len(t.ID) + len(t.Subject)
	if t.Cost != (tasks.Cost{}) {
		size += 40
	}
	for _, c := range []byte(t.Subject) {
		if c < ' ' || c == '<' || c == '>' || c == '&' {
			size += 5 // escaped, such as \u003c
		}
	}
	for _, id := range t.BlockedBy {
		size += 3 + len(id)
	}
	return size
}

// columnsOf converts outlines to columns.
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
		setSparse(&c.Tokens, len(all), i, t.Cost.Tokens)
		setSparse(&c.Failed, len(all), i, t.Cost.FailedTokens)
		if t.Unchanged {
			setSparse(&c.Unchanged, len(all), i, 1)
		}
		setSparse(&c.Micros, len(all), i, int64(math.Round(t.Cost.USD*1e6)))
	}
	return c
}

// setSparse sets a value of a list of n, which is only made for the first that is not 0.
func setSparse(list *[]int64, n, i int, v int64) {
	if v == 0 {
		return
	}
	if *list == nil {
		*list = make([]int64, n)
	}
	(*list)[i] = v
}

// sparse returns a value of a list that may be absent.
func sparse(list []int64, i int) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[i]
}

// rows converts columns to outlines. It checks that they are consistent, because
// they come from another process.
func (c *TaskColumns) rows() ([]tasks.Outline, error) {
	n, links := len(c.IDs), c.BlockedBy
	fits := len(c.Subjects) == n && len(c.Status) == n && len(c.Owner) == n && len(c.Blockers) == n
	for _, length := range []int{len(c.Tokens), len(c.Failed), len(c.Micros), len(c.Unchanged)} {
		fits = fits && (length == 0 || length == n)
	}
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
			Status: tasks.Status(word(c.Status[i])), Owner: word(c.Owner[i]), Unchanged: sparse(c.Unchanged, i) != 0,
			Cost: tasks.Cost{Tokens: sparse(c.Tokens, i), FailedTokens: sparse(c.Failed, i), USD: float64(sparse(c.Micros, i)) / 1e6},
		}
		count := c.Blockers[i]
		if fits = fits && 0 <= count && count <= len(links); fits && count > 0 {
			list[i].BlockedBy, links = links[:count:count], links[count:]
		}
	}
	if !fits || len(links) > 0 {
		return nil, fmt.Errorf("the team's reply is invalid: the columns of %d tasks are inconsistent", n)
	}
	return list, nil
}
