package orchestrator

import (
	"encoding/json"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// lostTask returns the task that a message says is not the reader's any more.
func lostTask(m mail.Message) (id string, ok bool) {
	if m.Kind != mail.TaskLost {
		return "", false
	}
	var data tasks.Loss
	if err := json.Unmarshal(m.Data, &data); err != nil {
		return "", false
	}
	return data.TaskID, data.TaskID != ""
}

// lossIsMoot reports whether a message tells of a lost task that nobody can do harm
// to any more: it is done, the member's own again, or deleted since. That a task in progress
// was deleted is news: its owner is at work on it.
func lossIsMoot(m mail.Message, all []tasks.Task, member string) bool {
	id, ok := lostTask(m)
	if !ok || deletedTask(m) {
		return false
	}
	i, there := tasks.Find(all, id)
	return !there || all[i].Status == tasks.Completed || all[i].Owner == member
}

// deletedTask reports whether a message tells the owner of a task in progress that
// somebody has deleted it.
func deletedTask(m mail.Message) bool {
	var data tasks.Loss
	return json.Unmarshal(m.Data, &data) == nil && data.Status == tasks.LossDeleted
}
