package plan

import (
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// SortMail splits mail into messages to show and the ids of moot ones. An
// assignment is moot if a later one repeats it, or if its task is completed,
// deleted, already in progress with the member, or another member's. Losses that
// no longer matter are moot, too. Assignments of blocked tasks are shown only
// together with other messages.
func SortMail(letters []mail.Message, all []tasks.Task, member string) (show []mail.Message, moot []string) {
	// There are several assignments of a task that changed its owner more than
	// once.
	last := map[string]string{}              // task -> its latest assignment
	assigned := make([]string, len(letters)) // what each assigns; empty: nothing
	for i, m := range letters {
		if id, ok := tasks.AssignedTask(m); ok {
			assigned[i], last[id] = id, m.ID
		}
	}
	news := false
	for i, m := range letters {
		if lossIsMoot(m, all, member) {
			moot = append(moot, m.ID)
			continue
		}
		id := assigned[i]
		if id == "" {
			news = news || m.Kind != mail.Terminated // that somebody has left is told along with other news
			show = append(show, m)
			continue
		}
		at, there := tasks.Find(all, id)
		if last[id] != m.ID || !there || all[at].Owner != member || all[at].Status != tasks.Pending {
			moot = append(moot, m.ID)
			continue
		}
		news = news || tasks.Ready(&all[at], all)
		show = append(show, m)
	}
	// An assignment of a blocked task does not wake the member.
	if !news {
		show = nil
	}
	return show, moot
}

// lossIsMoot reports whether a message about a lost task does not matter any
// more: the task is completed, the member's own again, or deleted since. The
// deletion of a task in progress matters, because its former owner may still work
// on it.
func lossIsMoot(m mail.Message, all []tasks.Task, member string) bool {
	loss, ok := tasks.LossOf(m)
	if !ok || loss.Status == tasks.LossDeleted {
		return false
	}
	i, there := tasks.Find(all, loss.TaskID)
	return !there || all[i].Status == tasks.Completed || all[i].Owner == member
}

// FromOperator reports whether a person sent m.
func FromOperator(m mail.Message) bool { return m.Kind == mail.OperatorMessage }

// CauseOf returns the cause of a turn that begins with this mail: a person's
// message takes precedence, then a task, then another message.
func CauseOf(letters []mail.Message) events.Cause {
	cause := events.ByTask
	for _, m := range letters {
		switch m.Kind {
		case mail.Goal:
			return events.ByGoal
		case mail.OperatorMessage:
			return events.ByPerson
		case mail.HookMessage:
			if cause == events.ByTask {
				cause = events.ByHook
			}
		case mail.TaskAssignment, mail.TaskLost:
		default:
			cause = events.ByMessage
		}
	}
	return cause
}
