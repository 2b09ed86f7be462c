package orchestrator

import (
	"context"
	"errors"
	"strings"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// Mail may wait for tasks: whoever sends it wants its receiver to be woken once, when all
// of them are done. It lies in the mailbox all the time and is left out of what is read,
// so that it becomes readable in the transaction that completes or deletes the last task.

// unread gives the mail that a member may be shown, and the tasks that other mail for it
// waits for.
func (c *crew) unread(ctx context.Context, member string) (due []mail.Message, waits []tasks.Task, err error) {
	mail, err := c.store.Mail().Unread(ctx, member)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range mail {
		open, err := c.openAmong(ctx, m.WaitFor)
		if err != nil {
			return nil, nil, err
		}
		if len(open) == 0 {
			due = append(due, m)
		}
		waits = append(waits, open...)
	}
	return due, waits, nil
}

// openAmong are those of some tasks that are neither completed nor deleted.
func (c *crew) openAmong(ctx context.Context, ids []string) (open []tasks.Task, err error) {
	for _, id := range ids {
		t, err := c.store.Task(ctx, id)
		if errors.Is(err, tasks.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if t.Status != tasks.Completed {
			open = append(open, t)
		}
	}
	return open, nil
}

// readAfter tells a sender when its message is read.
func readAfter(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return "; it is read once these tasks are completed or deleted: " + strings.Join(ids, ", ")
}

// taskIDs are ids as models and people write them: "#2" is task 2.
func taskIDs(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = strings.TrimPrefix(strings.TrimSpace(id), "#")
	}
	return out
}
