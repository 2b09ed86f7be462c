package tasks

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// Assignment is the Data of a task_assignment message.
type Assignment struct {
	TaskID      string    `json:"taskId"`
	Subject     string    `json:"subject"`
	Description string    `json:"description,omitempty"` // empty when over 64 KiB: read the task
	AssignedBy  string    `json:"assignedBy"`
	Timestamp   time.Time `json:"timestamp"`
	Ready       bool      `json:"ready"`              // the receiver owned the task before, and it can start now
	WaitsFor    []string  `json:"waitsFor,omitempty"` // ids of the blockers that are not completed
}

// assign tells a task's owner that it is the owner, or that its task is ready. A
// member that took the task itself is not told. That a task is ready is news for its
// owner whoever completed its last blocker.
func (t *txn) assign(a actors.Actor, rec *taskRecord, ready bool) {
	if rec.Owner == "" || rec.Owner == a.Name && !ready {
		return
	}
	n := Assignment{
		TaskID: rec.ID, Subject: rec.Subject, Description: rec.Description,
		AssignedBy: a.Name, Timestamp: t.tx.Now(), Ready: ready, WaitsFor: t.waiting(rec.ID),
	}
	mail.Post(t.tx, mail.Message{
		From: a.Name, To: rec.Owner, Kind: mail.TaskAssignment, Text: n.text(), Data: t.tx.Encode(n),
		Summary: store.OneLine("task "+rec.ID+": "+mail.Summarize(rec.Subject), mail.MaxSummary),
	})
}

// text formats the assignment for the receiver, which may be a model.
func (n Assignment) text() string {
	switch {
	case n.Ready:
		return fmt.Sprintf("Task %s is ready for you: %s", n.TaskID, n.Subject)
	case len(n.WaitsFor) > 0:
		return fmt.Sprintf("Task %s is yours: %s (it waits for %s)", n.TaskID, n.Subject, taskList(n.WaitsFor))
	}
	return fmt.Sprintf("Task %s is yours: %s", n.TaskID, n.Subject)
}

// AssignedTask returns the id of the task that an assignment is about. ok is false if
// the message is not an assignment.
func AssignedTask(m mail.Message) (id string, ok bool) {
	if m.Kind != mail.TaskAssignment {
		return "", false
	}
	var data Assignment
	if err := json.Unmarshal(m.Data, &data); err != nil {
		return "", false
	}
	return data.TaskID, data.TaskID != ""
}
