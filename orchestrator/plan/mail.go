package plan

import (
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// SortMail splits mail into what is to be shown and the ids of what is moot:
// assignments that a later one repeats, or whose task is done, deleted, in
// progress with the member already, or somebody else's. Assignments of tasks
// that are still blocked are shown only along with something that is not. Losses
// that no longer matter are moot as well.
func SortMail(letters []mail.Message, all []tasks.Task, member string) (show []mail.Message, moot []string) {
	// A task that was handed to and fro has left several assignments.
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
	// An assignment that waits for a blocker is no reason to wake anybody.
	if !news {
		show = nil
	}
	return show, moot
}

// lossIsMoot reports whether a message tells of a lost task that its former owner can do no
// harm to any more: it is done, the member's own again, or deleted since. That a task in
// progress was deleted is news: its owner is at work on it.
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

// CauseOf says why a turn begins that is made of this mail: what a person
// sent comes first, then a task, then a message.
func CauseOf(letters []mail.Message) agent.Cause {
	cause := agent.ByTask
	for _, m := range letters {
		switch m.Kind {
		case mail.Goal:
			return agent.ByGoal
		case mail.OperatorMessage:
			return agent.ByPerson
		case mail.HookMessage:
			if cause == agent.ByTask {
				cause = agent.ByHook
			}
		case mail.TaskAssignment, mail.TaskLost:
		default:
			cause = agent.ByMessage
		}
	}
	return cause
}
