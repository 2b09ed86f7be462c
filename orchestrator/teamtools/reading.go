package teamtools

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// Mail may wait for tasks: its recipient is woken once, when all of them are
// done. Such mail is in the mailbox from the start and is left out of reads, so
// that it becomes readable in the transaction that completes or deletes the last
// task.

// Unread returns the unread mail that a member may be shown, and the open tasks
// that its other mail waits for.
func (b *TaskAPI) Unread(ctx context.Context, member *mail.Received) (due []mail.Message, waits []tasks.Task, err error) {
	boxes, err := b.deps.Store.Mail().UnreadOf(ctx, []*mail.Received{member})
	if err != nil {
		return nil, nil, err
	}
	return b.due(ctx, boxes[0])
}

// ViewMail fills in the unread mail of idle members. It makes two reads of the
// store for all mailboxes together, because most mailboxes are empty.
func (b *TaskAPI) ViewMail(ctx context.Context, seats []plan.Seat, received func(i int) *mail.Received) error {
	counts, err := b.deps.Store.Mail().UnreadCounts(ctx)
	if err != nil {
		return err
	}
	var members []*mail.Received
	var with []*plan.Seat
	for i := range seats {
		if m := &seats[i]; m.Idle && !m.Gone && counts[m.Name] > 0 {
			members, with = append(members, received(i)), append(with, m)
		}
	}
	if len(members) == 0 {
		return nil
	}
	boxes, err := b.deps.Store.Mail().UnreadOf(ctx, members)
	for i, m := range with {
		if err == nil {
			m.Unread, m.MailWaits, err = b.due(ctx, boxes[i])
		}
	}
	return err
}

// due returns the mail that may be read now, and the open tasks that the rest
// waits for.
func (b *TaskAPI) due(ctx context.Context, letters []mail.Message) (due []mail.Message, waits []tasks.Task, err error) {
	if !slices.ContainsFunc(letters, func(m mail.Message) bool { return len(m.WaitFor) > 0 }) {
		return letters, nil, nil
	}
	for _, m := range letters {
		open, err := b.openAmong(ctx, m.WaitFor)
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

// openAmong returns the tasks that are neither completed nor deleted.
func (b *TaskAPI) openAmong(ctx context.Context, ids []string) (open []tasks.Task, err error) {
	for _, id := range ids {
		t, err := b.deps.Store.Task(ctx, id)
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

// taskIDs normalizes ids that models and people write: "#2" is task 2.
func taskIDs(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = strings.TrimPrefix(strings.TrimSpace(id), "#")
	}
	return out
}

// Concerned returns the tasks that mail is about and those that block them, in
// list order. It does not read the whole list: in a large team, doing so for each
// member's mail takes longer than all other work of covey.
func (b *TaskAPI) Concerned(ctx context.Context, letters []mail.Message) ([]tasks.Task, error) {
	found, seen := map[string]tasks.Task{}, map[string]bool{}
	read := func(ids ...string) error {
		for _, id := range ids {
			t, err := b.deps.Store.Task(ctx, id)
			if errors.Is(err, tasks.ErrNotFound) {
				continue // deleted since
			}
			if err != nil {
				return err
			}
			found[id] = t
		}
		return nil
	}
	for _, m := range letters {
		id, ok := tasks.AssignedTask(m)
		if loss, is := tasks.LossOf(m); is {
			id, ok = loss.TaskID, true
		}
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		if err := read(id); err != nil {
			return nil, err
		}
		if err := read(found[id].BlockedBy...); err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b tasks.Task) int { return tasks.CompareIDs(a.ID, b.ID) }), nil
}
