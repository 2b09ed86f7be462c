package tasks

import (
	"context"
	"encoding/json"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// Loading is what a spec brings: all of it is stored, or nothing.
type Loading struct {
	Tasks []New           // as for Add; nobody's call
	From  string          // the sender of Mail
	Mail  []mail.Outgoing // as for Send
	// Values are stored as Put stores them, and are asked for inside the change, as often
	// as it is tried: ids are those of Tasks, in their order. However long they are, they
	// stay in the store itself. nil: there are none.
	Values func(ids []string) map[string]json.RawMessage
}

// Load stores what a spec brings in one change: mail first, then tasks, as if each had
// been there when the next came. Errors are those of Add and Send; after one, and after a
// crash before it returns, either nothing of it is there or everything.
func (s *Store) Load(ctx context.Context, l Loading) ([]Task, error) {
	c := s.db.Job("load")
	letters := make([]mail.Packed, len(l.Mail))
	drafts, err := newDrafts(c, "", l.Tasks)
	for i := 0; err == nil && i < len(l.Mail); i++ {
		letters[i], err = s.mail.Pack(c, l.From, l.Mail[i])
	}
	if err != nil {
		return nil, c.Abandon(err)
	}
	r, err := act(ctx, c, actors.Actor{}, func(t *txn) (*receiptRecord, error) {
		for _, letter := range letters {
			if _, err := s.mail.Put(t.tx, letter); err != nil {
				return nil, err
			}
		}
		rec, err := t.addAll(actors.Actor{}, drafts)
		if err != nil || l.Values == nil {
			return rec, err
		}
		return rec, setValues(t.tx, l.Values(rec.taskIDs()))
	})
	return r.Tasks, err
}

// taskIDs are the ids of the receipt's tasks.
func (r *receiptRecord) taskIDs() []string {
	ids := make([]string, len(r.Tasks))
	for i := range r.Tasks {
		ids[i] = r.Tasks[i].ID
	}
	return ids
}
