package tasks

import (
	"cmp"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Status is the state of a task. Deletion is not a state: a deleted task is gone.
type Status string

// The states of a task. No member sees a proposed task until the TaskCreated hooks
// agree.
const (
	Proposed   Status = "proposed"
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// Task is one entry of the team's list.
type Task struct {
	ID          string                     `json:"id"` // "1", "2", …; never reused
	Subject     string                     `json:"subject"`
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"activeForm,omitempty"` // what is shown while it runs
	Status      Status                     `json:"status"`
	Owner       string                     `json:"owner"`            // a member's name; empty: none
	Author      string                     `json:"author,omitempty"` // the actor that last wrote subject or description; empty: covey
	Epoch       uint64                     `json:"epoch"`            // rises with every claim, release and resume
	Version     uint64                     `json:"version"`          // rises with every change of the task, but not of its Cost
	Blocks      []string                   `json:"blocks"`
	BlockedBy   []string                   `json:"blockedBy"`
	Labels      []string                   `json:"labels"`
	Wants       Wants                      `json:"wants,omitzero"`
	Metadata    map[string]json.RawMessage `json:"metadata"`
	Evidence    []Evidence                 `json:"evidence,omitempty"` // oldest first
	Cost        Cost                       `json:"cost,omitzero"`
	Unchanged   bool                       `json:"unchanged,omitempty"` // completed without a change to a file; see MarkUnchanged
	Created     time.Time                  `json:"created,omitzero"`
	Updated     time.Time                  `json:"updated,omitzero"`
	Begun       time.Time                  `json:"begun,omitzero"` // when it last came in progress
}

// Wants describes what a member needs in order to take a task by itself.
type Wants struct {
	Tools  []string `json:"tools,omitempty"`
	Labels []string `json:"labels,omitempty"`
	Role   string   `json:"role,omitempty"`
}

// Find returns the index of a task in a list in the order of ids, as List returns it.
// The bool is false if it is not there.
func Find(list []Task, id string) (int, bool) {
	return find(len(list), id, func(i int) string { return list[i].ID }) // slices.BinarySearchFunc would copy each task
}

// find looks for an id in a list of n in the order of ids. If no task was deleted,
// the id is the index plus 1.
func find(n int, id string, at func(int) string) (int, bool) {
	if number, err := strconv.Atoi(id); err == nil && 0 < number && number <= n && at(number-1) == id {
		return number - 1, true
	}
	return sort.Find(n, func(i int) int { return CompareIDs(id, at(i)) })
}

// CompareIDs compares two ids of tasks in the order in which List returns the tasks.
func CompareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
